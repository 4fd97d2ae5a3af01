#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/base/error.h"
#include "engine/plan/plan.h"

namespace shardscope {

// That so many ranks need more memory together than their host has for them (code memory, with the numbers). Of a host
// whose memory is not known (0) nothing is said.
std::optional<Error> host_memory_excess(int64_t rank_bytes, int ranks, int64_t memory_bytes);
// The same of the plan's ranks, on the hosts of its machine; or that its heaviest device has too little memory of its
// own.
std::optional<Error> host_memory_excess(const Plan& plan);

// Throw Failure of that, unless the person wants it (`--force`). With `ranks` and `memory_bytes`: of one host of
// several.
void require_host_memory(const Plan& plan, bool force);
void require_host_memory(const Plan& plan, int ranks, int64_t memory_bytes, bool force);

inline constexpr std::string_view force_hint = "--force trains all the same";

}  // namespace shardscope
