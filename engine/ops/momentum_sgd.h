#pragma once

#include <string>

#include "engine/ops/schedule.h"

namespace shardscope {

// Attributes of op momentum_sgd: optax.sgd with momentum.
struct MomentumSgdAttributes {
  Schedule learning_rate = 0.01;
  double momentum = 0.9;
  bool nesterov = false;
  bool operator==(const MomentumSgdAttributes&) const = default;
};
std::string to_string(const MomentumSgdAttributes& attributes);

}  // namespace shardscope
