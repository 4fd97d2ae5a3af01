#include "engine/ops/adam.h"

#include <fmt/format.h>

#include "engine/ops/optimizer_update.h"

namespace shardscope {

std::string to_string(const AdamAttributes& a) {
  return fmt::format("learning_rate={}, b1={}, b2={}, eps={}, weight_decay={}", to_string(a.learning_rate), a.b1, a.b2,
                     a.eps, a.weight_decay);
}

namespace {

// optax.adam's update (D. Kingma and J. Ba, 2015): (parameter, gradient, mu, nu) -> (parameter, mu, nu), in place;
// with weight decay optax.adamw's (I. Loshchilov and F. Hutter, 2019), where rate x decay x parameter is taken off too.
// The count for the bias correction and for the learning rate's schedule is the training step.
const OptimizerUpdate<AdamAttributes> adam("adam", 2, 14);

}  // namespace

std::vector<const OpDefinition*> adam_ops() { return {&adam}; }

}  // namespace shardscope
