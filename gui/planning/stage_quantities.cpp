#include "gui/planning/stage_quantities.h"

namespace shardscope {

std::vector<StageQuantities> stage_quantities(const Plan& plan) {
  std::vector<StageQuantities> stages(static_cast<size_t>(plan.program.stages));
  const auto add = [&](int value, double StageQuantities::*bytes) {
    if (value < 0) return;
    const ProgramValue& stored = plan.program.values[value];
    stages[static_cast<size_t>(stored.stage)].*bytes += static_cast<double>(stored.bytes());
  };
  for (const ParameterPlan& parameter : plan.parameters) {
    add(parameter.value, &StageQuantities::parameter_bytes);
    for (const int state : parameter.state_values) add(state, &StageQuantities::state_bytes);
  }
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    double before = 0;
    auto span = plan.simulation.stages[static_cast<size_t>(stage)].begin();
    for (const Instruction& instruction : plan.instructions(stage)) {
      stages[static_cast<size_t>(stage)].phase_seconds[static_cast<size_t>(instruction.phase)] += span->end - before;
      before = span++->end;
    }
  }
  return stages;
}

}  // namespace shardscope
