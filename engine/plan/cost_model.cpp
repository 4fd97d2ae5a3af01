#include "engine/plan/cost_model.h"

#include <algorithm>

#include "engine/graph/op_definition.h"

namespace shardscope {

CostRates cost_rates(const DeviceProfile& profile, int ranks) {
  double share = profile.cores_per_rank(ranks);
  CostRates rates;
  rates.seconds_per_matrix_flop = 1 / (profile.matrix_flops_per_core * share);
  rates.seconds_per_byte = 1 / (profile.memory_bytes_per_core * share);
  rates.seconds_per_wire_byte = 1 / (profile.collective_bytes_per_core * share);
  rates.seconds_per_collective = profile.collective_latency;
  rates.seconds_per_step = profile.step_latency / std::min(1.0, share);
  return rates;
}

double step_seconds(const Step& step, const Graph& graph, const CostRates& rates) {
  if (is_collective(step.kind)) return rates.seconds_per_collective + step.wire_bytes * rates.seconds_per_wire_byte;
  const double touched = rates.seconds_per_step + step.bytes_touched * rates.seconds_per_byte;
  const bool product = step.kind == StepKind::compute && graph.ops[step.op].definition->is_matrix_product();
  return product ? std::max(touched, step.flops * rates.seconds_per_matrix_flop) : touched;
}

StepTable<double> predict_seconds(const Program& program, const Graph& graph, const CostRates& rates) {
  StepTable<double> seconds;
  for (const Task& task : program.tasks) {
    std::vector<double>& row = seconds.tasks.emplace_back();
    row.reserve(task.steps.size());
    for (const Step& step : task.steps) row.push_back(step_seconds(step, graph, rates));
  }
  return seconds;
}

}  // namespace shardscope
