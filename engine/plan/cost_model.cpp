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

void predict_time(Program& program, const Graph& graph, const CostRates& rates, PlanTotals& totals) {
  for (Step& step : program.steps) {
    if (is_collective(step.kind)) {
      step.seconds = rates.seconds_per_collective + step.wire_bytes * rates.seconds_per_wire_byte;
    } else {
      step.seconds = rates.seconds_per_step + step.bytes_touched * rates.seconds_per_byte;
      if (step.kind == StepKind::compute && graph.ops[step.op].definition->is_matrix_product()) {
        step.seconds = std::max(step.seconds, step.flops * rates.seconds_per_matrix_flop);
      }
    }
    totals.wire_bytes_per_device += step.wire_bytes;
    totals.flops_per_device += step.flops;
    totals.seconds_per_step += step.seconds;
  }
}

}  // namespace shardscope
