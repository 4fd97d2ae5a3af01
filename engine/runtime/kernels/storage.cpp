#include "engine/runtime/kernels/storage.h"

#include "engine/base/vector_clones.h"

namespace shardscope {

SHARDSCOPE_INTEGER_CLONES void convert(const float* from, BFloat16* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = to_bfloat16(from[i]);
}

SHARDSCOPE_INTEGER_CLONES void convert(const BFloat16* from, float* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = to_float(from[i]);
}

}  // namespace shardscope
