#include "engine/ops/lion.h"

#include <fmt/format.h>

#include "engine/ops/optimizer_update.h"

namespace shardscope {

std::string to_string(const LionAttributes& a) {
  return fmt::format("learning_rate={}, b1={}, b2={}, weight_decay={}", to_string(a.learning_rate), a.b1, a.b2,
                     a.weight_decay);
}

namespace {

// optax.lion's update (X. Chen et al., 2023): (parameter, gradient, mu) -> (parameter, mu), in place:
// parameter' = parameter - learning_rate (sign(b1 mu + (1 - b1) gradient) + weight_decay parameter), where the sign of
// 0 is 0; mu' = b2 mu + (1 - b2) gradient. The learning rate is that of the training step.
const OptimizerUpdate<LionAttributes> lion("lion", 1, 11);

}  // namespace

std::vector<const OpDefinition*> lion_ops() { return {&lion}; }

}  // namespace shardscope
