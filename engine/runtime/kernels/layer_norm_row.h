#pragma once

#include <cmath>

#include "engine/ops/layer_norm.h"
#include "engine/runtime/kernels/kernel.h"

namespace shardscope {

struct RowNorm {
  float mean, inverse;  // xhat = (x - mean) * inverse
};

// Mean and inverse deviation of each row from its raw sums: var = max(0, squares / features - mean^2), as in
// flax.linen.LayerNorm with use_fast_variance. Attributes epsilon, features (the whole size of the normalised
// dimension).
struct RowMoments {
  const float* sums;
  const float* squares;
  float features;
  float epsilon;

  // `first` is the position of the sums among the inputs; the squares follow.
  RowMoments(const KernelArguments& arguments, int first)
      : sums(arguments.inputs[first].f32()),
        squares(arguments.inputs[first + 1].f32()),
        features(static_cast<float>(arguments.attributes->as<LayerNormAttributes>().features)),
        epsilon(static_cast<float>(arguments.attributes->as<LayerNormAttributes>().epsilon)) {}

  [[gnu::always_inline]] RowNorm at(int64_t row) const {
    const float mean = sums[row] / features;
    const float variance = squares[row] / features - mean * mean;
    return {mean, 1.0f / std::sqrt((variance > 0.0f ? variance : 0.0f) + epsilon)};
  }
};

}  // namespace shardscope
