#include "engine/ops/registry.h"
#include "engine/optim/optimizer.h"

namespace shardscope {

namespace {

void append(Graph& graph, const OptionList& options) {
  Attributes attributes;
  for (const char* key : {"learning_rate", "b1", "b2", "eps"}) attributes[key] = real_option(options, key);
  for (Parameter& parameter : graph.parameters) {
    const std::string name = graph.values[parameter.value].name;
    const TensorType type = graph.type(parameter.value);
    parameter.state_names = {"mu", "nu"};
    for (const std::string& state : parameter.state_names) {
      parameter.state.push_back(graph.add_source("optimizer/" + state + "/" + name, type, ValueKind::optimizer_state));
    }
    OpId update =
        graph.add_op(op_definition("adam"), name + "/adam", Phase::update,
                     {parameter.value, parameter.gradient, parameter.state[0], parameter.state[1]}, attributes);
    const std::vector<ValueId>& results = graph.ops[update].outputs;
    parameter.updated = results[0];
    parameter.updated_state = {results[1], results[2]};
  }
}

}  // namespace

// optax.adam.
OptimizerDefinition adam_optimizer() {
  return {"adam",
          {{"learning_rate", 1e-3, true, 0, 1e6, "step size"},
           {"b1", 0.9, false, 0, 0.999999, "decay of the first moment"},
           {"b2", 0.999, false, 0, 0.9999999, "decay of the second moment"},
           {"eps", 1e-8, false, 0, 1, "added to the root of the second moment"}},
          append};
}

}  // namespace shardscope
