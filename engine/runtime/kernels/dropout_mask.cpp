#include "engine/runtime/kernels/dropout_mask.h"

namespace shardscope {

DropoutMask::DropoutMask(const Attributes& attributes) : rate_(real(attributes, "dropout_rate")) {
  if (!active()) return;
  base_ = key_from_seed(integer(attributes, "seed"));
  fold_ = static_cast<uint32_t>(integer(attributes, "dropout_fold"));
}

void DropoutMask::start_step(int64_t step) {
  if (active()) key_ = fold_in(fold_in(base_, static_cast<uint32_t>(step)), fold_);
}

void DropoutMask::fill(uint64_t first, std::span<uint8_t> kept) const {
  fill_bernoulli(key_, first, keep_probability(), kept);
}

}  // namespace shardscope
