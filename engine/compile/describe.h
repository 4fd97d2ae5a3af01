#pragma once

#include <vector>

#include "engine/compile/lay_out.h"
#include "engine/compile/pins.h"
#include "engine/plan/plan.h"
#include "engine/shard/lowering.h"

namespace shardscope {

// What a plan tells of its arrays.

// `specs` are the states', `origins` the values'.
std::vector<ParameterPlan> describe_parameters(const Graph& graph, const Mesh& mesh,
                                               const std::vector<ResolvedSpec>& specs,
                                               const std::vector<Origin>& origins, const Lowered& lowered);

// Inputs and forward results, each with the reason of its layout. `program`: of `laid_out`, from which it may be moved.
std::vector<ValueLayout> describe_layouts(const LayoutProblem& problem, const std::vector<Origin>& origins,
                                          LayoutMode mode, const LaidOut& laid_out, const Program& program);

// Of memory alone.
PlanTotals memory_total(const ArenaLayout& arena);
PlanTotals total(const Program& program, const ArenaLayout& arena, const Simulation& simulation, int stage);
// The largest of each, and the time that the plan takes.
PlanTotals total(const std::vector<PlanTotals>& stages, double seconds);

// How matrix products of bf16 operands are computed on the plan's machine; empty where the plan has none.
std::string bf16_products(const Plan& plan);

// What a person should know before the plan runs. `memory_limit_mib`: the run file's, of a device.
std::vector<Error> warnings(const Plan& plan, std::optional<int64_t> memory_limit_mib);

}  // namespace shardscope
