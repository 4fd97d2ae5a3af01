#pragma once

#include <cstdint>
#include <limits>

#include "engine/runtime/kernels/vector_math.h"

namespace shardscope {

// Loops over a row of logits, for kernels that are compiled with clones.

[[gnu::always_inline]] inline float largest_of(const float* x, int64_t count) {
  float value = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : value)
  for (int64_t i = 0; i < count; ++i) value = x[i] > value ? x[i] : value;
  return value;
}

[[gnu::always_inline]] inline float sum_of_exponentials(const float* x, float shift, int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += vector_exp(x[i] - shift);
  return sum;
}

// The first index at which x is `value`; `count` where there is none.
[[gnu::always_inline]] inline int32_t first_index_of(const float* x, float value, int64_t count) {
  int32_t first = static_cast<int32_t>(count);
#pragma omp simd reduction(min : first)
  for (int32_t i = 0; i < static_cast<int32_t>(count); ++i) {
    const int32_t here = x[i] == value ? i : static_cast<int32_t>(count);
    first = here < first ? here : first;
  }
  return first;
}

}  // namespace shardscope
