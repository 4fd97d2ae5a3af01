#pragma once

#include <cstdint>
#include <string>

namespace shardscope {

// Attributes of op adam: optax.adam, and with a weight decay optax.adamw.
struct AdamAttributes {
  double learning_rate = 1e-3, b1 = 0.9, b2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool operator==(const AdamAttributes&) const = default;
};
std::string to_string(const AdamAttributes& attributes);

}  // namespace shardscope
