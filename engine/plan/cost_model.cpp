#include "engine/plan/cost_model.h"

#include <algorithm>

#include "engine/graph/op_definition.h"

namespace shardscope {

CostRates cost_rates(const DeviceProfile& profile, int ranks) {
  double share = profile.cores_per_rank(ranks);
  CostRates rates;
  rates.seconds_per_matrix_flop = 1 / (profile.matrix_flops_per_core * share);
  const double bf16 = profile.matrix_flops_per_core_bf16;
  rates.seconds_per_matrix_flop_bf16 = bf16 > 0 ? 1 / (bf16 * share) : rates.seconds_per_matrix_flop;
  rates.seconds_per_byte = 1 / (profile.memory_bytes_per_core * share);
  rates.wire = {1 / (profile.collective_bytes_per_core * share), profile.collective_latency};
  rates.transfer = rates.wire;
  rates.seconds_per_step = profile.step_latency / std::min(1.0, share);
  return rates;
}

CostRates cost_rates(const DeviceProfile& profile, const Mesh& mesh, const std::string& pipeline) {
  CostRates rates = cost_rates(profile, mesh.device_count());
  if (profile.links.empty()) return rates;
  for (const MeshAxis& axis : mesh.axes()) {
    const auto link = std::ranges::find(profile.links, axis.name, &AxisLink::axis);
    rates.links.push_back(link == profile.links.end() ? rates.wire
                                                      : WireRate{1 / link->bytes_per_second, link->latency});
    if (axis.name == pipeline) rates.transfer = rates.links.back();
  }
  return rates;
}

double instruction_seconds(const Instruction& instruction, const Program& program, const Graph& graph,
                           const CostRates& rates) {
  if (is_collective(instruction.kind()))
    return exchange_seconds(group_rate(rates, instruction.axes()), instruction.wire_bytes());
  if (instruction.kind() == InstructionKind::send)
    return local_seconds(rates, {instruction.bytes_touched(), 0, DType::f32});
  if (instruction.kind() == InstructionKind::receive)
    return exchange_seconds(rates.transfer, static_cast<double>(instruction.payload_bytes()));
  const bool product =
      instruction.kind() == InstructionKind::compute && graph.ops[instruction.op].definition->is_matrix_product();
  const int typical = instruction.operands().empty() ? instruction.results()[0] : instruction.operands()[0];
  return local_seconds(rates,
                       {instruction.bytes_touched(), product ? instruction.flops() : 0, program.values[typical].dtype});
}

InstructionTable<double> predict_seconds(const Program& program, const Graph& graph, const CostRates& rates) {
  InstructionTable<double> seconds;
  for (const Task& task : program.tasks) {
    std::vector<double>& row = seconds.tasks.emplace_back();
    row.reserve(task.instructions.size());
    for (const Instruction& instruction : task.instructions)
      row.push_back(instruction_seconds(instruction, program, graph, rates));
  }
  return seconds;
}

double main_seconds(const Program& program, const InstructionTable<double>& seconds, int stage) {
  double total = 0;
  for (const TaskRun& run : program.main(stage).runs) {
    for (double step : seconds.tasks[run.task]) total += step;
  }
  return total;
}

}  // namespace shardscope
