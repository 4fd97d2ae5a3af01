#include "engine/search/parameter_tokens.h"

#include <algorithm>
#include <limits>
#include <ranges>

#include "engine/graph/op_definition.h"

namespace shardscope {

ParameterTokens::ParameterTokens(const Graph& graph, const std::vector<bool>& of_states, const StackTypes& types)
    : state_of_(graph.values.size(), no_id), tokens_(graph.states.size()) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  for (size_t s = 0; s < tokens_.size(); ++s) tokens_[s] = {static_cast<StateId>(s), no_id, unknown, unknown};
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
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::forward) continue;
    const auto taken = std::ranges::find_if(op.inputs, is_array);
    if (taken == op.inputs.end()) continue;
    for (ValueId value : op.inputs) {
      const StateId state = state_of(value);
      if (state != no_id && tokens_[static_cast<size_t>(state)].taken == no_id)
        tokens_[static_cast<size_t>(state)].taken = *taken;
    }
  }
  for (const Op& op : graph.ops) {
    if (op.phase == Phase::update) continue;
    for (const std::vector<ValueId>* beside : {&op.inputs, &op.outputs}) {
      for (ValueId value : *beside) {
        if (!is_array(value)) continue;
        const double bytes = static_cast<double>(graph.type(value).bytes()) * types.exchanged_share(value);
        const bool is_cotangent = op.phase == Phase::backward && beside == &op.outputs;
        for (const std::vector<ValueId>* values : {&op.inputs, &op.outputs}) {
          for (ValueId parameter : *values) {
            if (state_of(parameter) == no_id) continue;
            TokensOfParameter& tokens = tokens_[static_cast<size_t>(state_of(parameter))];
            double& least = is_cotangent || original(value) == tokens.taken ? tokens.taken_bytes : tokens.other_bytes;
            least = std::min(least, bytes);
          }
        }
      }
    }
  }
}

TokensOfParameter ParameterTokens::of(ValueId value) const {
  const StateId state = state_of_[static_cast<size_t>(value)];
  return state == no_id ? TokensOfParameter() : tokens_[static_cast<size_t>(state)];
}

}  // namespace shardscope
