#include "engine/lint/rules/axis_use.h"

#include <algorithm>

#include "engine/machine/machine_prices.h"

namespace shardscope {
namespace {

bool is_reduction(InstructionKind kind) {
  return kind == InstructionKind::all_reduce || kind == InstructionKind::reduce_scatter;
}

// The gradient of a parameter, or what is made of one, is no activation.
bool moves_activations(const Plan& plan, const Instruction& instruction) {
  if (instruction.phase == Phase::update) return false;
  return std::ranges::any_of(instruction.operands(), [&](int operand) {
    const ValueId id = plan.program.values[static_cast<size_t>(operand)].graph_value;
    if (id == no_id) return false;
    const Value* value = &plan.graph->values[static_cast<size_t>(id)];
    if (value->cotangent_of != no_id) value = &plan.graph->values[static_cast<size_t>(value->cotangent_of)];
    return value->kind == ValueKind::result && value->type.shape.size() > 1;
  });
}

// The axes that an instruction communicates over; none where it does not.
AxisList axes_of(const Plan& plan, const Instruction& instruction) {
  AxisList axes;
  if (is_transfer(instruction.kind())) axes.push_back(*plan.pipeline.axis);
  else if (instruction.as<CollectiveStart>()) axes = instruction.axes();
  return axes;
}

void add_communication(const Plan& plan, int stage, std::vector<AxisUse>& uses) {
  const SequenceInstructions instructions = plan.instructions(stage);
  std::vector<double> seconds(uses.size()), bytes(uses.size());
  for (const auto& [position, count] : distinct_instructions(plan.program.main(stage))) {
    const Instruction& instruction = instructions[position];
    for (const AxisIndex axis : axes_of(plan, instruction)) {
      seconds[axis] += count * plan.seconds(position, stage);
      bytes[axis] += count * instruction.wire_bytes();
      if (is_reduction(instruction.kind()) && moves_activations(plan, instruction))
        uses[axis].reduces_activations = true;
    }
  }
  for (AxisUse& use : uses) {
    use.seconds = std::max(use.seconds, seconds[use.axis]);
    use.wire_bytes = std::max(use.wire_bytes, bytes[use.axis]);
  }
}

void add_waits(const Plan& plan, int stage, std::vector<AxisUse>& uses) {
  const SequenceInstructions instructions = plan.instructions(stage);
  const std::vector<Simulation::Span>& spans = plan.simulation.stages[static_cast<size_t>(stage)];
  std::vector<double> seconds(uses.size());
  for (int position = 0; position < instructions.size(); ++position) {
    if (instructions[position].as<CollectiveStart>()) continue;
    const auto& [start, end] = spans[static_cast<size_t>(position)];
    for (const AxisIndex axis : axes_of(plan, instructions[instructions.start_of(position)]))
      seconds[axis] += end - start;
  }
  for (AxisUse& use : uses) use.exposed_seconds = std::max(use.exposed_seconds, seconds[use.axis]);
}

}  // namespace

std::vector<AxisUse> axis_uses(const Plan& plan) {
  std::vector<AxisUse> uses;
  uint8_t split = 0, rows = 0, parameters = 0;
  for (const ProgramValue& value : plan.program.values) split |= value.sharding.used_axes();
  for (const ValueLayout& layout : plan.layouts) {
    if (plan.graph->values[static_cast<size_t>(layout.value)].kind != ValueKind::input || layout.shape.empty())
      continue;
    for (const AxisIndex axis : layout.sharding.dims[0]) rows |= static_cast<uint8_t>(1 << axis);
  }
  for (const ParameterPlan& parameter : plan.parameters) parameters |= parameter.sharding.used_axes();
  const MachinePrices prices(plan.machine, plan.mesh.device_count());
  for (int i = 0; i < plan.mesh.axis_count(); ++i) {
    const auto axis = static_cast<AxisIndex>(i);
    const MeshAxis& of_mesh = plan.mesh.axes()[axis];
    AxisUse use{axis, of_mesh.name, of_mesh.size};
    use.is_pipeline = plan.pipeline.axis == axis;
    const auto has = [&](uint8_t set) { return (set >> axis & 1) != 0; };
    use.splits_rows = has(rows);
    use.splits_values = has(split);
    use.splits_parameters = has(parameters);
    use.level = of_mesh.size > 1 ? prices.place(plan.mesh, {axis}).level() : -1;
    uses.push_back(std::move(use));
  }
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    add_communication(plan, stage, uses);
    add_waits(plan, stage, uses);
  }
  return uses;
}

}  // namespace shardscope
