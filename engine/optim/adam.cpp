#include "engine/optim/adam.h"

#include "engine/ops/registry.h"
#include "engine/optim/clipping.h"
#include "engine/optim/learning_rate.h"

namespace shardscope {

void append_adam(Graph& graph, const OptionList& options, const std::function<double(const std::string&)>& decay_of) {
  AdamAttributes attributes = adam_attributes(options);
  const std::vector<ValueId> gradients = clipped_gradients(graph, options);
  size_t next = 0;
  for (StateId id : graph.trainable()) {
    const StateId mu = add_optimizer_state(graph, id, "mu"), nu = add_optimizer_state(graph, id, "nu");
    State& parameter = graph.states[id];
    attributes.weight_decay = decay_of(graph.name(parameter));
    const OpId update = graph.add_op(
        op_definition("adam"), graph.name(parameter) + "/adam", Phase::update,
        {parameter.before, gradients[next++], graph.states[mu].before, graph.states[nu].before}, attributes);
    parameter.after = graph.ops[update].outputs[0];
    graph.states[mu].after = graph.ops[update].outputs[1];
    graph.states[nu].after = graph.ops[update].outputs[2];
  }
}

std::vector<OptionDefinition> adam_options() {
  std::vector<OptionDefinition> options = learning_rate_options(1e-3);
  options.insert(options.begin() + 1, {{"b1", 0.9, false, 0, 0.999999, "decay of the first moment"},
                                       {"b2", 0.999, false, 0, 0.9999999, "decay of the second moment"},
                                       {"eps", 1e-8, false, 0, 1, "added to the root of the second moment"}});
  options.push_back(clipping_option());
  return options;
}

AdamAttributes adam_attributes(const OptionList& options) {
  return {learning_rate(options), real_option(options, "b1"), real_option(options, "b2"), real_option(options, "eps")};
}

// optax.adam.
OptimizerDefinition adam_optimizer() {
  return {"adam", adam_options(), [](Graph& graph, const OptionList& options) {
            append_adam(graph, options, [](const std::string&) { return 0.0; });
          }};
}

}  // namespace shardscope
