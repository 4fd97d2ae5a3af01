#include "engine/optim/momentum.h"

#include "engine/ops/momentum_sgd.h"
#include "engine/optim/learning_rate.h"
#include "engine/optim/optimizer.h"

namespace shardscope {

std::vector<OptionDefinition> momentum_options() {
  return {
      {"momentum", 0.0, false, 0, 0.999999, "optax.sgd's: share of the sum of gradients that a step keeps; 0: none"},
      {"nesterov", false, false, 0, 0, "with momentum: the step also takes the gradient that comes next"}};
}

bool has_momentum(const OptionList& options) { return real_option(options, "momentum") > 0; }

void append_momentum(Graph& graph, const OptionList& options, const StateTypes& types) {
  const MomentumSgdAttributes attributes{learning_rate(options), real_option(options, "momentum"),
                                         bool_option(options, "nesterov")};
  append_updates(graph, options, types, "momentum_sgd", "sgd", {"trace"},
                 [&](const std::string&) { return attributes; });
}

}  // namespace shardscope
