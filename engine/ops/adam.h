#pragma once

#include <cstdint>
#include <string>

#include "engine/ops/schedule.h"

namespace shardscope {

// Attributes of op adam: optax.adam, and with a weight decay optax.adamw.
struct AdamAttributes {
  Schedule learning_rate = 1e-3;
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool operator==(const AdamAttributes&) const = default;
};
std::string to_string(const AdamAttributes& attributes);

}  // namespace shardscope
