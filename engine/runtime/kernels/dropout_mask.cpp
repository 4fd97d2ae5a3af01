#include "engine/runtime/kernels/dropout_mask.h"

namespace shardscope {

void DropoutMask::start_step(int64_t step, bool training) {
  training_ = training;
  if (active()) key_ = key_at(step_key_, step);
}

void DropoutMask::fill(uint64_t first, std::span<uint8_t> kept) const {
  fill_bernoulli(key_, first, keep_probability(), kept);
}

}  // namespace shardscope
