#include "engine/ops/momentum_sgd.h"

#include <fmt/format.h>

#include "engine/ops/optimizer_update.h"

namespace shardscope {

std::string to_string(const MomentumSgdAttributes& a) {
  return fmt::format("learning_rate={}, momentum={}, nesterov={}", to_string(a.learning_rate), a.momentum, a.nesterov);
}

namespace {

// optax.sgd's update: (parameter, gradient, trace) -> (parameter, trace), in place:
// trace' = gradient + momentum trace; parameter' = parameter - learning_rate trace', or with nesterov (Y. Nesterov,
// 1983; as in I. Sutskever et al., 2013) parameter - learning_rate (gradient + momentum trace').
// The learning rate is that of the training step.
const OptimizerUpdate<MomentumSgdAttributes> momentum_sgd("momentum_sgd", 1, 6);

}  // namespace

std::vector<const OpDefinition*> momentum_sgd_ops() { return {&momentum_sgd}; }

}  // namespace shardscope
