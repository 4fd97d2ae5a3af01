#include "engine/optim/adam.h"

#include "engine/ops/registry.h"

namespace shardscope {

void append_adam(Graph& graph, const AdamAttributes& attributes) {
  for (StateId id : graph.trainable()) {
    const StateId mu = add_optimizer_state(graph, id, "mu"), nu = add_optimizer_state(graph, id, "nu");
    State& parameter = graph.states[id];
    const OpId update = graph.add_op(
        op_definition("adam"), graph.name(parameter) + "/adam", Phase::update,
        {parameter.before, parameter.gradient, graph.states[mu].before, graph.states[nu].before}, attributes);
    parameter.after = graph.ops[update].outputs[0];
    graph.states[mu].after = graph.ops[update].outputs[1];
    graph.states[nu].after = graph.ops[update].outputs[2];
  }
}

std::vector<OptionDefinition> adam_options() {
  return {{"learning_rate", 1e-3, true, 0, 1e6, "step size"},
          {"b1", 0.9, false, 0, 0.999999, "decay of the first moment"},
          {"b2", 0.999, false, 0, 0.9999999, "decay of the second moment"},
          {"eps", 1e-8, false, 0, 1, "added to the root of the second moment"}};
}

AdamAttributes adam_attributes(const OptionList& options) {
  return {real_option(options, "learning_rate"), real_option(options, "b1"), real_option(options, "b2"),
          real_option(options, "eps")};
}

// optax.adam.
OptimizerDefinition adam_optimizer() {
  return {"adam", adam_options(),
          [](Graph& graph, const OptionList& options) { append_adam(graph, adam_attributes(options)); }};
}

}  // namespace shardscope
