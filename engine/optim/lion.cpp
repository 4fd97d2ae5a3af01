#include "engine/ops/lion.h"

#include "engine/optim/clipping.h"
#include "engine/optim/decay_mask.h"
#include "engine/optim/learning_rate.h"
#include "engine/optim/optimizer.h"

namespace shardscope {

namespace {

std::vector<OptionDefinition> lion_options() {
  std::vector<OptionDefinition> options = learning_rate_options(1e-4);
  options.insert(options.begin() + 1,
                 {{"b1", 0.9, false, 0, 0.999999, "share of the moment in the direction of a step"},
                  {"b2", 0.99, false, 0, 0.9999999, "decay of the moment"}});
  options.push_back(clipping_option());
  options.push_back({"weight_decay", 1e-3, false, 0, 1e6, "share of a parameter taken off, times the step size"});
  options.push_back(decay_mask_option());
  return options;
}

void append_lion(Graph& graph, const OptionList& options, const StateTypes& types) {
  const DecayMask mask(options);
  LionAttributes attributes{learning_rate(options), real_option(options, "b1"), real_option(options, "b2"), 0};
  append_updates(graph, options, types, "lion", "lion", {"mu"}, [&](const std::string& parameter) {
    attributes.weight_decay = mask.decays(parameter) ? real_option(options, "weight_decay") : 0;
    return attributes;
  });
}

std::vector<Error> lion_notes(const OptionList& options, const std::vector<std::string>& parameters) {
  return DecayMask(options).unmatched(parameters);
}

}  // namespace

// optax.lion: every element of a parameter goes one step size along the sign of a mean of gradients.
OptimizerDefinition lion_optimizer() {
  return {"lion",         "optax.lion: steps along the sign of a mean of gradients, with weight decay",
          lion_options(), append_lion,
          nullptr,        lion_notes};
}

}  // namespace shardscope
