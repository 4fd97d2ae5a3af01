#include "engine/plan/stored_values.h"

#include <set>

namespace shardscope {

std::vector<int> stored_values(const Plan& plan) {
  const Graph& graph = *plan.graph;
  std::vector<int> value_of(graph.states.size(), -1);
  for (size_t v = 0; v < plan.program.values.size(); ++v) {
    const ProgramValue& value = plan.program.values[v];
    if (!is_source(value, graph) || graph.values[value.graph_value].kind != ValueKind::state) continue;
    value_of[graph.values[value.graph_value].state] = static_cast<int>(v);
  }
  std::erase(value_of, -1);
  return value_of;
}

std::vector<int64_t> checkpoint_bytes(const Plan& plan) {
  std::vector<int64_t> bytes(static_cast<size_t>(plan.mesh.device_count()));
  for (int id : stored_values(plan)) {
    const ProgramValue& value = plan.program.values[id];
    std::set<Shape> begun;
    for (int rank : plan.devices_of_stage(value.stage)) {
      const Box box = shard_box(value.sharding, plan.mesh, value.shape, rank);
      if (begun.insert(box.start).second) bytes[rank] += element_count(box.size) * byte_size(value.dtype);
    }
  }
  return bytes;
}

}  // namespace shardscope
