#include "engine/optim/clipping.h"
#include "engine/optim/optimizer.h"

namespace shardscope {

namespace {

void append_set_to_zero(Graph& graph, const OptionList& options, const StateTypes& types) {
  append_updates(graph, options, types, "no_update", "no_update", {}, [](const std::string&) { return Attributes(); });
}

}  // namespace

// optax.set_to_zero: every update is zero. Forward and backward run and make the gradients, each complete and laid out
// as its parameter when the update begins; no parameter changes, and there is no state and no learning rate.
OptimizerDefinition set_to_zero_optimizer() {
  return {"set_to_zero",
          "optax.set_to_zero: computes the gradients and changes no parameter",
          {clipping_option()},
          append_set_to_zero};
}

}  // namespace shardscope
