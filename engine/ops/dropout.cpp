#include "engine/ops/dropout.h"

#include <fmt/format.h>

#include "engine/ops/elementwise_op.h"

namespace shardscope {

std::string to_string(const DropoutAttributes& a) {
  if (a == DropoutAttributes{}) return "rate=0";
  std::string key = fmt::format("{:08x}{:08x}+{}*step+{}", a.key.key.k0, a.key.key.k1, a.key.stride, a.key.offset);
  if (a.key.fold) key += fmt::format("+{}", *a.key.fold);
  return fmt::format("rate={}, key={}", a.rate, key);
}

uint64_t hash_of(const DropoutAttributes& attributes) {
  return (uint64_t{attributes.key.offset} << 32) ^ attributes.key.fold.value_or(0);
}

namespace {

// flax.linen.Dropout: keeps element i (row-major index in the whole array) where bernoulli(key, 1 - rate)[i] and scales
// it by 1 / (1 - rate), the key being that of the training step. The identity where nothing is trained. Linear in x,
// and its own gradient.
const LinearFunction dropout("dropout", 1, require_attributes<DropoutAttributes>);

}  // namespace

std::vector<const OpDefinition*> dropout_ops() { return {&dropout}; }

}  // namespace shardscope
