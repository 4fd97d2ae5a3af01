#include "viz/paint/network_layers.h"

#include <algorithm>

namespace shardscope {

NetworkLayers::NetworkLayers(const Plan& plan) : graph_(plan.graph.get()), of_state_(graph_->states.size(), -1) {
  for (const Op& op : graph_->ops) {
    if (op.phase != Phase::forward) continue;
    for (const ValueId input : op.inputs) {
      const Value& value = graph_->values[input];
      if (value.kind == ValueKind::state && of_state_[value.state] < 0) of_state_[value.state] = op.place.layer;
    }
  }
  for (size_t state = 0; state < of_state_.size(); ++state) {
    const StateId follows = graph_->states[state].follows;
    if (of_state_[state] < 0 && follows != no_id) of_state_[state] = of_state_[follows];
  }
}

int NetworkLayers::of(OpId op) const {
  if (op == no_id) return -1;
  const Op& it = graph_->ops[op];
  if (it.phase != Phase::update) return it.place.layer;
  for (const ValueId input : it.inputs) {
    const Value& value = graph_->values[input];
    if (value.kind == ValueKind::state) return of_state_[value.state];
  }
  return -1;
}

int NetworkLayers::of(const Instruction& instruction) const {
  if (instruction.moved().empty()) return of(instruction.op);
  const int layer = of(instruction.moved().front().cause.user);
  const auto same = [&](const MovedArray& array) { return of(array.cause.user) == layer; };
  return std::ranges::all_of(instruction.moved(), same) ? layer : -1;
}

}  // namespace shardscope
