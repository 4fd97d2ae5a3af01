#pragma once

#include "engine/config/run_config.h"
#include "engine/plan/plan.h"

namespace shardscope {

// What makes a plan the same program on every rank: its config (not where its data are), the machine's rates (not its
// name, cores or memory, nor where they are from), the planner's version, instructions with their operands, axes and
// layouts, sequences and buffers.
uint64_t plan_hash(const Plan& plan, const RunConfig& config);

}  // namespace shardscope
