#pragma once

#include <string>

#include "engine/ops/schedule.h"

namespace shardscope {

// Attributes of op lion: optax.lion.
struct LionAttributes {
  Schedule learning_rate = 1e-4;
  double b1 = 0.9, b2 = 0.99, weight_decay = 1e-3;
  bool operator==(const LionAttributes&) const = default;
};
std::string to_string(const LionAttributes& attributes);

}  // namespace shardscope
