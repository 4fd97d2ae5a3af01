#pragma once

#include "engine/plan/plan.h"

namespace shardscope {

// What makes a plan the same program on every rank: config, the machine's rates (not its name, cores or memory),
// the planner's version, steps with their operands, axes and layouts, sequences and buffers.
uint64_t plan_hash(const Plan& plan);
// That of the plan with another config, which names the same data elsewhere, say.
uint64_t plan_hash(const Plan& plan, const RunConfig& config);

}  // namespace shardscope
