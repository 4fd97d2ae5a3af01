#include "engine/graph/casts.h"

#include <algorithm>

namespace shardscope {

namespace {

// Bytes by which an element of the result is larger; 0 of what is no cast.
int64_t growth(const Graph& graph, const Op& op) {
  if (op.inputs.size() != 1 || op.outputs.size() != 1) return 0;
  const TensorType &from = graph.type(op.inputs[0]), &to = graph.type(op.outputs[0]);
  if (from.shape != to.shape || !is_float(from.dtype) || !is_float(to.dtype)) return 0;
  return static_cast<int64_t>(byte_size(to.dtype)) - static_cast<int64_t>(byte_size(from.dtype));
}

}  // namespace

bool widens(const Graph& graph, const Op& op) { return growth(graph, op) > 0; }

bool narrows(const Graph& graph, const Op& op) { return growth(graph, op) < 0; }

std::vector<bool> values_of_states(const Graph& graph) {
  std::vector<bool> of_states(graph.values.size());
  for (size_t v = 0; v < of_states.size(); ++v) of_states[v] = graph.values[v].kind == ValueKind::state;
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::forward || op.inputs.empty()) continue;
    const bool alone = std::ranges::all_of(op.inputs, [&](ValueId input) { return of_states[input]; });
    for (ValueId output : op.outputs) of_states[output] = alone;
  }
  return of_states;
}

std::vector<bool> ops_of_states(const Graph& graph) {
  const std::vector<bool> of_states = values_of_states(graph);
  std::vector<bool> ops(graph.ops.size());
  for (size_t id = 0; id < ops.size(); ++id) {
    const Op& op = graph.ops[id];
    ops[id] = op.phase == Phase::forward && of_states[op.outputs[0]];
  }
  return ops;
}

}  // namespace shardscope
