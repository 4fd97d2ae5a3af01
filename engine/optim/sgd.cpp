#include "engine/ops/sgd.h"

#include "engine/ops/registry.h"
#include "engine/optim/optimizer.h"

namespace shardscope {

namespace {

void append(Graph& graph, const OptionList& options) {
  const SgdAttributes attributes{real_option(options, "learning_rate"), real_option(options, "decay")};
  for (StateId id : graph.trainable()) {
    const StateId momentum = add_optimizer_state(graph, id, "momentum");
    State& parameter = graph.states[id];
    const OpId update = graph.add_op(op_definition("sgd"), graph.name(parameter) + "/sgd", Phase::update,
                                     {parameter.before, parameter.gradient, graph.states[momentum].before}, attributes);
    parameter.after = graph.ops[update].outputs[0];
    graph.states[momentum].after = graph.ops[update].outputs[1];
  }
}

}  // namespace

// Gradient descent with momentum as an exponential mean of gradients: the SGD of "Tensor Parallel and Transformers
// Scaling" (MinText, tutorial 3).
OptimizerDefinition sgd_optimizer() {
  return {"sgd",
          {{"learning_rate", 0.01, true, 0, 1e6, "step size"},
           {"decay", 0.9, false, 0, 0.999999, "share of the momentum that a step keeps"}},
          append};
}

}  // namespace shardscope
