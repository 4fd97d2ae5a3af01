#pragma once

#include "engine/plan/plan.h"

namespace shardscope {

// What makes a plan the same program on every rank: config, profile (but not its name or the host's memory), the
// planner's version, steps with their operands, axes and layouts, sequences and buffers.
uint64_t plan_hash(const Plan& plan);

}  // namespace shardscope
