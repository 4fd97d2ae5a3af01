#include "engine/optim/adam.h"

#include "engine/optim/clipping.h"
#include "engine/optim/learning_rate.h"

namespace shardscope {

void append_adam(Graph& graph, const OptionList& options, const StateTypes& types,
                 const std::function<double(const std::string&)>& decay_of) {
  AdamAttributes attributes = adam_attributes(options);
  append_updates(graph, options, types, "adam", "adam", {"mu", "nu"}, [&](const std::string& parameter) {
    attributes.weight_decay = decay_of(parameter);
    return attributes;
  });
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
  return {"adam", "optax.adam", adam_options(), [](Graph& graph, const OptionList& options, const StateTypes& types) {
            append_adam(graph, options, types, [](const std::string&) { return 0.0; });
          }};
}

}  // namespace shardscope
