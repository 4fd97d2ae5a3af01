#pragma once

#include <cstdint>
#include <string>

#include "engine/ops/dropout.h"

namespace shardscope {

// Attributes of ops attention and attention_grad.
struct AttentionAttributes {
  bool causal = false;
  DropoutAttributes dropout = {};  // of the weights
  bool operator==(const AttentionAttributes&) const = default;
};
std::string to_string(const AttentionAttributes& attributes);
uint64_t hash_of(const AttentionAttributes& attributes);

}  // namespace shardscope
