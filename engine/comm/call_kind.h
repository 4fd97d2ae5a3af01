#pragma once

#include <cstdint>
#include <string_view>

namespace shardscope {

// What the members of a group do in one call. A barrier moves nothing.
enum class CallKind : uint8_t { barrier, all_gather, all_reduce, reduce_scatter, all_to_all, permute };
// "all-gather"
std::string_view name(CallKind kind);

}  // namespace shardscope
