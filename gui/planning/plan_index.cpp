#include "gui/planning/plan_index.h"

#include "engine/base/path.h"
#include "engine/plan/value_stages.h"

namespace shardscope {

int64_t exchanges(const Plan& plan) {
  int64_t count = 0;
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    const SequenceInstructions steps = plan.instructions(stage);
    for (const auto& [at, runs] : distinct_instructions(plan.program.main(stage)))
      if (is_communication(steps[at].kind()) && !steps[at].as<CollectiveDone>()) count += runs;
  }
  return count;
}

PlanIndex::PlanIndex(const Plan& plan)
    : exchanges(shardscope::exchanges(plan)),
      findings(certain_findings(plan)),
      quantities(stage_quantities(plan)),
      utilisation(shardscope::utilisation(plan)),
      exposed(most_exposed_by_axes(plan)) {
  task_runs.resize(plan.program.tasks.size(), 0);
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    for (const TaskRun& run : plan.program.main(stage).runs) ++task_runs[static_cast<size_t>(run.task)];
    const SequenceInstructions steps = plan.instructions(stage);
    for (const auto& [at, runs] : distinct_instructions(plan.program.main(stage))) {
      const Instruction& instruction = steps[at];
      if (!is_communication(instruction.kind()) || instruction.as<CollectiveDone>()) continue;
      const int number = static_cast<int>(collectives.size());
      collectives.push_back(steps.id(at));
      for (const std::span<const int> values : {instruction.operands(), instruction.destinations()})
        for (const int value : values) {
          const ValueId graph_value = plan.program.values[value].graph_value;
          if (graph_value == no_id) continue;
          std::vector<int>& moved = moved_by[graph_value];
          if (moved.empty() || moved.back() != number) moved.push_back(number);
        }
    }
  }
  if (plan.program.stages > 1) {
    const std::vector<std::vector<int>> stages = stages_of_values(plan);
    for (size_t value = 0; value < stages.size(); ++value)
      if (!stages[value].empty()) stages_of.emplace(static_cast<ValueId>(value), stages[value]);
  }
  for (size_t i = 0; i < plan.layouts.size(); ++i) {
    layout_of.emplace(plan.layouts[i].value, static_cast<int>(i));
    layout_named.emplace(plan.layouts[i].name, static_cast<int>(i));
  }
  for (size_t i = 0; i < plan.parameters.size(); ++i)
    parameter_at.emplace(join_path(plan.parameters[i].path), static_cast<int>(i));
}

ModelIndex::ModelIndex(std::vector<ParameterInfo> all) : parameters(std::move(all)) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameter_at.emplace(join_path(parameters[i].path), static_cast<int>(i));
    elements += element_count(parameters[i].type.shape);
    bytes += parameters[i].type.bytes();
  }
}

}  // namespace shardscope
