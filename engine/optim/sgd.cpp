#include "engine/ops/sgd.h"

#include "engine/ops/registry.h"
#include "engine/optim/clipping.h"
#include "engine/optim/learning_rate.h"
#include "engine/optim/optimizer.h"

namespace shardscope {

namespace {

void append(Graph& graph, const OptionList& options) {
  const SgdAttributes attributes{learning_rate(options), real_option(options, "decay")};
  const std::vector<ValueId> gradients = clipped_gradients(graph, options);
  size_t next = 0;
  for (StateId id : graph.trainable()) {
    const StateId momentum = add_optimizer_state(graph, id, "momentum");
    State& parameter = graph.states[id];
    const OpId update = graph.add_op(op_definition("sgd"), graph.name(parameter) + "/sgd", Phase::update,
                                     {parameter.before, gradients[next++], graph.states[momentum].before}, attributes);
    parameter.after = graph.ops[update].outputs[0];
    graph.states[momentum].after = graph.ops[update].outputs[1];
  }
}

std::vector<OptionDefinition> options() {
  std::vector<OptionDefinition> options = learning_rate_options(0.01);
  options.insert(options.begin() + 1, {"decay", 0.9, false, 0, 0.999999, "share of the momentum that a step keeps"});
  options.push_back(clipping_option());
  return options;
}

}  // namespace

// Gradient descent with momentum as an exponential mean of gradients: the SGD of "Tensor Parallel and Transformers
// Scaling" (MinText, tutorial 3).
OptimizerDefinition sgd_optimizer() { return {"sgd", options(), append}; }

}  // namespace shardscope
