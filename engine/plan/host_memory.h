#pragma once

#include <optional>

#include "engine/base/error.h"
#include "engine/plan/plan.h"

namespace shardscope {

// That the plan's ranks need more memory together than the host has for them (code memory, with the numbers).
std::optional<Error> host_memory_excess(const Plan& plan);

// Throws Failure of that, unless the person wants it (`--force`).
void require_host_memory(const Plan& plan, bool force);

}  // namespace shardscope
