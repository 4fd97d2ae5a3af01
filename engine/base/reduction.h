#pragma once

#include <cstdint>
#include <string_view>

namespace shardscope {

// How the parts that devices hold of an unfinished value make the whole one. All are taken in the order of ranks.
enum class Reduction : uint8_t { sum, max };

constexpr std::string_view name(Reduction reduction) { return reduction == Reduction::sum ? "sum" : "max"; }

}  // namespace shardscope
