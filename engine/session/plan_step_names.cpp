#include "engine/session/plan_step_names.h"

#include "engine/plan/plan.h"

namespace shardscope {

PlanStepNames plan_step_names(const Plan& plan) {
  PlanStepNames names;
  names.stages.resize(static_cast<size_t>(plan.program.stages));
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    for (const Instruction& instruction : plan.instructions(stage)) {
      names.stages[static_cast<size_t>(stage)].push_back({plan.instruction_name(instruction), instruction.phase});
    }
  }
  if (plan.program.stages == 1) return names;
  for (int rank = 0; rank < plan.mesh.device_count(); ++rank) names.stage_of_rank.push_back(plan.stage_of(rank));
  return names;
}

std::vector<int> step_counts(const PlanStepNames& names, int ranks) {
  std::vector<int> counts;
  for (int rank = 0; rank < ranks; ++rank) counts.push_back(static_cast<int>(names.of(rank).size()));
  return counts;
}

}  // namespace shardscope
