#include "engine/ops/sgd.h"

#include <algorithm>
#include <iterator>

#include "engine/optim/clipping.h"
#include "engine/optim/learning_rate.h"
#include "engine/optim/momentum.h"
#include "engine/optim/optimizer.h"

namespace shardscope {

namespace {

void append_sgd(Graph& graph, const OptionList& options, const StateTypes& types) {
  if (has_momentum(options)) return append_momentum(graph, options, types);
  const SgdAttributes attributes{learning_rate(options), real_option(options, "decay")};
  append_updates(graph, options, types, "sgd", "sgd", {"momentum"}, [&](const std::string&) { return attributes; });
}

std::vector<OptionDefinition> sgd_options() {
  std::vector<OptionDefinition> options = learning_rate_options(0.01);
  options.insert(options.begin() + 1, {"decay", 0.9, false, 0, 0.999999,
                                       "without momentum: share of the mean of gradients that a step keeps"});
  options.push_back(clipping_option());
  std::ranges::move(momentum_options(), std::back_inserter(options));
  return options;
}

std::vector<Error> check_sgd(const OptionList& given) {
  const OptionValue *momentum = find_option(given, "momentum"), *nesterov = find_option(given, "nesterov");
  const bool is_given = momentum && *momentum != OptionValue(0.0) && *momentum != OptionValue(int64_t{0});
  if (is_given && find_option(given, "decay")) {
    return {{"two_momenta", "momentum sums gradients as optax.sgd does, decay takes their mean", "optimizer.decay",
             "leave one of the two out"}};
  }
  if (nesterov && *nesterov == OptionValue(true) && !is_given)
    return {{"no_momentum", "nesterov needs momentum", "optimizer.nesterov", "such as \"momentum\": 0.9"}};
  return {};
}

}  // namespace

// Gradient descent: with momentum optax.sgd's, else with an exponential mean of gradients, the SGD of "Tensor Parallel
// and Transformers Scaling" (MinText, tutorial 3). Without both: decay 0.
OptimizerDefinition sgd_optimizer() {
  return {"sgd", "optax.sgd where momentum is given, else gradient descent along a mean of gradients", sgd_options(),
          append_sgd, check_sgd};
}

}  // namespace shardscope
