#include "engine/search/parameter_tokens.h"

#include <algorithm>
#include <initializer_list>
#include <ranges>

#include "engine/graph/op_definition.h"

namespace shardscope {

ParameterTokens::ParameterTokens(const Graph& graph, const std::vector<bool>& of_states, const StackTypes& types)
    : state_of_(graph.values.size(), no_id), tokens_(graph.states.size()) {
  for (size_t s = 0; s < tokens_.size(); ++s) tokens_[s].parameter = static_cast<StateId>(s);
  const auto state_of = [&](ValueId value) -> StateId& { return state_of_[static_cast<size_t>(value)]; };
  for (size_t s = 0; s < graph.states.size(); ++s) {
    if (!graph.states[s].trainable) continue;
    state_of(graph.states[s].before) = static_cast<StateId>(s);
    if (graph.states[s].gradient != no_id) state_of(graph.states[s].gradient) = static_cast<StateId>(s);
  }
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::update && !op.inputs.empty() && of_states[static_cast<size_t>(op.outputs[0])])
      for (ValueId output : op.outputs) state_of(output) = state_of(op.inputs[0]);
  }
  // From gradients back to the products that make them.
  for (const Op& op : graph.ops | std::views::reverse) {
    if (op.phase != Phase::backward || op.definition->is_matrix_product() || state_of(op.outputs[0]) == no_id) continue;
    for (ValueId input : op.inputs) {
      if (state_of(input) == no_id) state_of(input) = state_of(op.outputs[0]);
    }
  }
  const auto original = [&](ValueId value) {
    const ValueId again_of = graph.values[static_cast<size_t>(value)].again_of;
    return again_of == no_id ? value : again_of;
  };
  const auto is_array = [&](ValueId value) {
    const TensorType& type = graph.type(value);
    return state_of(value) == no_id && !type.shape.empty() && type.dtype != DType::i32;
  };
  const auto parameters_of = [&](std::initializer_list<const std::vector<ValueId>*> lists) {
    std::vector<TokensOfParameter*> parameters;
    for (const std::vector<ValueId>* values : lists) {
      for (ValueId value : *values) {
        if (state_of(value) != no_id) parameters.push_back(&tokens_[static_cast<size_t>(state_of(value))]);
      }
    }
    return parameters;
  };
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::forward) continue;
    const auto taken = std::ranges::find_if(op.inputs, is_array);
    if (taken == op.inputs.end()) continue;
    for (TokensOfParameter* parameter : parameters_of({&op.inputs})) {
      if (parameter->taken == no_id) parameter->taken = *taken;
    }
  }
  for (const Op& op : graph.ops) {
    if (op.phase == Phase::update) continue;
    const std::vector<TokensOfParameter*> parameters = parameters_of({&op.inputs, &op.outputs});
    const auto meet = [&](ValueId value, bool is_cotangent_of_taken) {
      if (!is_array(value)) return;
      const double bytes = static_cast<double>(graph.type(value).bytes()) * types.exchanged_share(value);
      for (TokensOfParameter* parameter : parameters) {
        const bool is_taken = is_cotangent_of_taken || original(value) == parameter->taken;
        double& least = is_taken ? parameter->taken_bytes : parameter->other_bytes;
        least = std::min(least, bytes);
      }
    };
    for (ValueId value : op.inputs) meet(value, false);
    for (ValueId value : op.outputs) meet(value, op.phase == Phase::backward);
  }
}

TokensOfParameter ParameterTokens::of(ValueId value) const {
  const StateId state = state_of_[static_cast<size_t>(value)];
  return state == no_id ? TokensOfParameter{.taken_bytes = 0, .other_bytes = 0} : tokens_[static_cast<size_t>(state)];
}

}  // namespace shardscope
