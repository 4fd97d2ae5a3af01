#include "engine/optim/adam.h"

namespace shardscope {

// optax.adamw: Adam whose step also takes learning_rate x weight_decay of every parameter off it.
OptimizerDefinition adamw_optimizer() {
  std::vector<OptionDefinition> options = adam_options();
  options.push_back({"weight_decay", 1e-4, false, 0, 1e6, "share of a parameter taken off, times the step size"});
  return {"adamw", std::move(options), [](Graph& graph, const OptionList& options) {
            AdamAttributes attributes = adam_attributes(options);
            attributes.weight_decay = real_option(options, "weight_decay");
            append_adam(graph, attributes);
          }};
}

}  // namespace shardscope
