#include "engine/runtime/kernels/dropout_mask.h"

namespace shardscope {

void DropoutMask::start_step(const StepContext& context) {
  training_ = context.training;
  first_ = elements_ * static_cast<uint64_t>(context.microbatch);
  if (active()) key_ = key_at(step_key_, context.step);
}

void DropoutMask::fill(uint64_t first, std::span<uint8_t> kept) const {
  fill_bernoulli(key_, first_ + first, keep_probability(), kept);
}

}  // namespace shardscope
