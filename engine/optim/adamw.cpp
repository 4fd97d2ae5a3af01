#include "engine/optim/adam.h"
#include "engine/optim/decay_mask.h"

namespace shardscope {

namespace {

std::vector<OptionDefinition> adamw_options() {
  std::vector<OptionDefinition> options = adam_options();
  options.push_back({"weight_decay", 1e-4, false, 0, 1e6, "share of a parameter taken off, times the step size"});
  options.push_back(decay_mask_option());
  return options;
}

void append_adamw(Graph& graph, const OptionList& options, const StateTypes& types) {
  const DecayMask mask(options);
  const double decay = real_option(options, "weight_decay");
  append_adam(graph, options, types,
              [&](const std::string& parameter) { return mask.decays(parameter) ? decay : 0.0; });
}

std::vector<Error> adamw_notes(const OptionList& options, const std::vector<std::string>& parameters) {
  return DecayMask(options).unmatched(parameters);
}

}  // namespace

// optax.adamw: Adam whose step also takes learning_rate x weight_decay of a parameter off it.
OptimizerDefinition adamw_optimizer() {
  return {"adamw",         "optax.adamw: Adam with weight decay, of the parameters that a mask names",
          adamw_options(), append_adamw,
          nullptr,         adamw_notes};
}

}  // namespace shardscope
