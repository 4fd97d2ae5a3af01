#include "engine/ops/sgd.h"

#include <fmt/format.h>

#include "engine/ops/optimizer_update.h"

namespace shardscope {

std::string to_string(const SgdAttributes& a) {
  return fmt::format("learning_rate={}, decay={}", to_string(a.learning_rate), a.decay);
}

namespace {

// (parameter, gradient, momentum) -> (parameter, momentum), in place:
// momentum' = decay momentum + (1 - decay) gradient; parameter' = parameter - learning_rate momentum'.
// The learning rate is that of the training step.
const OptimizerUpdate<SgdAttributes> sgd("sgd", 1, 5);

}  // namespace

std::vector<const OpDefinition*> sgd_ops() { return {&sgd}; }

}  // namespace shardscope
