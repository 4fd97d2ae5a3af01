#pragma once

#include "engine/plan/plan.h"

namespace shardscope {

// Gives every program value a buffer and every buffer its place in the arena. A result takes over the buffer of an
// operand that is used for the last time where the op allows it (always for parameter updates); all-reduces work in
// place likewise. Workspaces are buffers of their one step. Offsets: persistent buffers first, then the largest first,
// each at the lowest offset that is free for all of its life. `gradients` are the parameters' (a memory category of
// their own); `kept` values (loss, accuracy) live to the end of the step.
void plan_memory(Program& program, const Graph& graph, const std::vector<ValueId>& gradients,
                 const std::vector<int>& kept, int threads);

// Bytes by category at the step where most is alive, and that sum.
void total_memory(const Program& program, PlanTotals& totals);

// Throws Failure naming two buffers that are alive together and overlap, or one that leaves the arena.
void verify_memory(const Program& program);

}  // namespace shardscope
