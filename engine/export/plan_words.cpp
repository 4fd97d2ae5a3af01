#include "engine/export/plan_words.h"

#include <cmath>

namespace shardscope {

std::string axes_text(const Plan& plan, const Instruction& instruction) {
  if (is_transfer(instruction.kind())) return plan.pipeline_axis();
  std::string text;
  for (AxisIndex axis : instruction.axes()) text += (text.empty() ? "" : ",") + plan.mesh.axes()[axis].name;
  return text;
}

std::string values_text(const Plan& plan, std::span<const int> values) {
  std::string text;
  for (int id : values) {
    const ProgramValue& value = plan.program.values[static_cast<size_t>(id)];
    const std::string name = value.graph_value == no_id
                                 ? plan.value_name(id)
                                 : plan.graph->values[static_cast<size_t>(value.graph_value)].name;
    text += (text.empty() ? "" : "; ") + name + " " + to_string(value.sharding, plan.mesh);
  }
  return text;
}

std::string op_text(const Plan& plan, const Instruction& instruction) {
  return instruction.op == no_id ? plan.instruction_name(instruction)
                                 : plan.graph->ops[static_cast<size_t>(instruction.op)].name;
}

int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

std::vector<PlanStepTime> predicted_times(const Plan& plan, int stage) {
  std::vector<PlanStepTime> times;
  for (const auto& [start, end] : plan.simulation.stages.at(static_cast<size_t>(stage)))
    times.push_back({nanoseconds(start), nanoseconds(start), nanoseconds(end)});
  return times;
}

}  // namespace shardscope
