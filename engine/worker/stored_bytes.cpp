#include "engine/worker/stored_bytes.h"

namespace shardscope {

StoredBytes measure_stored(const Plan& plan, const Executor& executor, const Arena& arena) {
  StoredBytes stored;
  const Graph& graph = *plan.graph;
  for (size_t v = 0; v < plan.program.values.size(); ++v) {
    const ProgramValue& value = plan.program.values[v];
    if (value.stage != executor.stage() || !is_source(value, graph) ||
        graph.values[value.graph_value].kind != ValueKind::state)
      continue;
    const State& state = graph.states[graph.values[value.graph_value].state];
    const int64_t bytes = arena.measured_bytes(executor.value(static_cast<int>(v)));
    (state.is_of_optimizer() ? stored.optimizer : stored.parameters) += bytes;
  }
  return stored;
}

}  // namespace shardscope
