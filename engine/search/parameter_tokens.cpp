#include "engine/search/parameter_tokens.h"

#include <algorithm>
#include <limits>
#include <ranges>

#include "engine/graph/op_definition.h"

namespace shardscope {

ParameterTokens::ParameterTokens(const Graph& graph, const std::vector<bool>& of_states, const StackTypes& types)
    : state_of_(graph.values.size(), no_id), least_(graph.states.size(), std::numeric_limits<double>::infinity()) {
  const auto state_of = [&](ValueId value) -> StateId& { return state_of_[static_cast<size_t>(value)]; };
  for (size_t s = 0; s < graph.states.size(); ++s) {
    if (!graph.states[s].trainable) continue;
    state_of(graph.states[s].before) = static_cast<StateId>(s);
    if (graph.states[s].gradient != no_id) state_of(graph.states[s].gradient) = static_cast<StateId>(s);
  }
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::update && !op.inputs.empty() && of_states[static_cast<size_t>(op.outputs[0])])
      state_of(op.outputs[0]) = state_of(op.inputs[0]);
  }
  // From gradients back to the products that make them.
  for (const Op& op : graph.ops | std::views::reverse) {
    if (op.phase != Phase::backward || op.definition->is_matrix_product() || state_of(op.outputs[0]) == no_id) continue;
    for (ValueId input : op.inputs) {
      if (state_of(input) == no_id) state_of(input) = state_of(op.outputs[0]);
    }
  }
  for (const Op& op : graph.ops) {
    if (op.phase == Phase::update) continue;
    double least = std::numeric_limits<double>::infinity();
    for (const std::vector<ValueId>* values : {&op.inputs, &op.outputs}) {
      for (ValueId value : *values) {
        if (state_of(value) != no_id || graph.type(value).shape.empty()) continue;
        const auto bytes = static_cast<double>(graph.type(value).bytes()) * types.exchanged_share(value);
        if (graph.type(value).dtype != DType::i32) least = std::min(least, bytes);
      }
    }
    for (const std::vector<ValueId>* values : {&op.inputs, &op.outputs}) {
      for (ValueId value : *values) {
        if (const StateId state = state_of(value); state != no_id)
          least_[static_cast<size_t>(state)] = std::min(least_[static_cast<size_t>(state)], least);
      }
    }
  }
}

double ParameterTokens::least_bytes(ValueId value) const {
  const StateId state = state_of_[static_cast<size_t>(value)];
  return state == no_id ? 0 : least_[static_cast<size_t>(state)];
}

}  // namespace shardscope
