#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/ops/dropout.h"

namespace shardscope {

// Attributes of ops attention and attention_grad. The scores s of a query and a key become, in this order: s x scale,
// soft_cap tanh(s / soft_cap), s + slope (key position - query position) of the query's head; then they are masked.
struct AttentionAttributes {
  bool causal = false;
  DropoutAttributes dropout = {};  // of the weights
  double scale = 0;                // 0: 1 / sqrt(size of a head)
  int64_t window = 0;              // each query sees its own and the window - 1 keys before it alone; 0: no limit
  double soft_cap = 0;             // 0: none
  std::vector<float> slopes = {};  // ALiBi (O. Press et al., 2022): one for each query head; none: no bias
  bool operator==(const AttentionAttributes&) const = default;
};
std::string to_string(const AttentionAttributes& attributes);
uint64_t hash_of(const AttentionAttributes& attributes);

// How many keys a block of queries works on at most, of `keys`.
int64_t attended_keys(const AttentionAttributes& attributes, int64_t keys);

}  // namespace shardscope
