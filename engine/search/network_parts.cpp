#include "engine/search/network_parts.h"

#include <algorithm>

#include "engine/plan/stages.h"

namespace shardscope {

NetworkParts::NetworkParts(const Graph& graph, int kept) : graph_(graph), kept_(kept) {
  of_op_.assign(graph.ops.size(), -1);
  of_state_.assign(graph.states.size(), -1);
  const std::vector<bool> before = ops_before_layers(graph);
  for (OpId id = 0; id < static_cast<OpId>(graph.ops.size()); ++id) {
    const Op& op = graph.ops[id];
    if (op.phase != Phase::forward) continue;
    const int part = op.place.layer >= 0 ? op.place.layer : before[static_cast<size_t>(id)] ? kept : kept + 1;
    of_op_[id] = part;
    for (ValueId input : op.inputs) {
      const Value& value = graph.values[input];
      if (value.kind != ValueKind::state) continue;
      int& of = of_state_[static_cast<size_t>(value.state)];
      if (of < 0) of = part;
    }
  }
  for (size_t s = 0; s < graph.states.size(); ++s) {
    const State& state = graph.states[s];
    if (of_state_[s] < 0 && state.follows != no_id) of_state_[s] = of_state_[static_cast<size_t>(state.follows)];
  }
  for (OpId id = 0; id < static_cast<OpId>(graph.ops.size()); ++id) place(id);
}

int NetworkParts::of_value(ValueId id) const {
  const Value& value = graph_.values[static_cast<size_t>(id)];
  if (value.kind == ValueKind::state) return std::max(0, of_state_[static_cast<size_t>(value.state)]);
  if (value.kind == ValueKind::input) return kept_;
  return of_op(value.producer);
}

void NetworkParts::place(OpId id) {
  const Op& op = graph_.ops[id];
  int& part = of_op_[static_cast<size_t>(id)];
  if (part >= 0) return;
  if (op.place.layer >= 0) part = op.place.layer;
  else if (op.forward_op != no_id) part = of_op_[static_cast<size_t>(op.forward_op)];
  for (const std::vector<ValueId>* values : {&op.outputs, &op.inputs}) {
    for (ValueId value : *values) {
      if (part < 0) part = by_state(value);
    }
  }
  for (ValueId input : op.inputs) {
    const OpId producer = graph_.values[input].producer;
    if (part < 0 && producer != no_id) part = of_op_[static_cast<size_t>(producer)];
  }
  if (part < 0) part = kept_ + 1;
}

int NetworkParts::by_state(ValueId id) {
  if (state_of_value_.empty()) {
    state_of_value_.assign(graph_.values.size(), no_id);
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      const State& state = graph_.states[s];
      for (ValueId value : {state.initial, state.before, state.after, state.gradient}) {
        if (value != no_id) state_of_value_[static_cast<size_t>(value)] = static_cast<StateId>(s);
      }
    }
  }
  const StateId state = state_of_value_[static_cast<size_t>(id)];
  return state == no_id ? -1 : of_state_[static_cast<size_t>(state)];
}

bool shares_parameters(const Graph& forward, int kept) {
  const NetworkParts parts(forward, kept);
  for (OpId id = 0; id < static_cast<OpId>(forward.ops.size()); ++id) {
    if (forward.ops[id].phase != Phase::forward) continue;
    for (ValueId input : forward.ops[id].inputs) {
      const Value& value = forward.values[input];
      const bool is_parameter = value.kind == ValueKind::state && forward.states[value.state].trainable;
      if (is_parameter && parts.of_value(input) != parts.of_op(id)) return true;
    }
  }
  return false;
}

}  // namespace shardscope
