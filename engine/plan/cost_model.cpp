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

double step_seconds(const Step& step, const Program& program, const Graph& graph, const CostRates& rates) {
  if (is_collective(step.kind)) return exchange_seconds(group_rate(rates, step.axes), step.wire_bytes);
  if (step.kind == StepKind::send) return local_seconds(rates, {step.bytes_touched, 0, DType::f32});
  if (step.kind == StepKind::receive) return exchange_seconds(rates.transfer, static_cast<double>(step.payload_bytes));
  const bool product = step.kind == StepKind::compute && graph.ops[step.op].definition->is_matrix_product();
  const int typical = step.inputs.empty() ? step.outputs[0] : step.inputs[0];
  return local_seconds(rates, {step.bytes_touched, product ? step.flops : 0, program.values[typical].dtype});
}

StepTable<double> predict_seconds(const Program& program, const Graph& graph, const CostRates& rates) {
  StepTable<double> seconds;
  for (const Task& task : program.tasks) {
    std::vector<double>& row = seconds.tasks.emplace_back();
    row.reserve(task.steps.size());
    for (const Step& step : task.steps) row.push_back(step_seconds(step, program, graph, rates));
  }
  return seconds;
}

double main_seconds(const Program& program, const StepTable<double>& seconds, int stage) {
  double total = 0;
  for (const TaskRun& run : program.main(stage).runs) {
    for (double step : seconds.tasks[run.task]) total += step;
  }
  return total;
}

}  // namespace shardscope
