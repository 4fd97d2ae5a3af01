#pragma once

#include <cstdint>
#include <span>

#include "engine/base/random.h"
#include "engine/ops/dropout.h"
#include "engine/runtime/kernels/kernel.h"

namespace shardscope {

// Which elements of an array one training step keeps: flax.linen.Dropout's bernoulli(key, 1 - rate) over the row-major
// index in the whole array of all microbatches, one after the other, with the step's key. With rate 0 everything is
// kept.
class DropoutMask {
 public:
  // `elements`: of the whole array, in one microbatch.
  DropoutMask(const DropoutAttributes& attributes, int64_t elements)
      : rate_(attributes.rate), step_key_(attributes.key), elements_(static_cast<uint64_t>(elements)) {}

  bool active() const { return rate_ > 0 && training_; }
  // The probability of being kept, in the precision in which JAX draws and divides.
  float keep_probability() const { return static_cast<float>(1.0 - rate_); }
  // Nothing is dropped where the step does not train.
  void start_step(const StepContext& context);
  // 1 where elements first, first + 1, ... of the microbatch are kept, else 0. With rate 1 nothing is kept.
  void fill(uint64_t first, std::span<uint8_t> kept) const;

 private:
  double rate_;
  StepKey step_key_;
  uint64_t elements_;
  uint64_t first_ = 0;  // of the microbatch
  bool training_ = true;
  Key key_;
};

}  // namespace shardscope
