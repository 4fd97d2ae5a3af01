#pragma once

#include <cstdint>

#include "engine/base/bfloat16.h"
#include "engine/base/shape.h"

namespace shardscope {

// How kernels read and write elements of a storage type T (float or BFloat16): they compute in float and round once,
// when they store.
[[gnu::always_inline]] inline float load(float x) { return x; }
[[gnu::always_inline]] inline float load(BFloat16 x) { return to_float(x); }

[[gnu::always_inline]] inline void store(float value, float& at) { at = value; }
[[gnu::always_inline]] inline void store(float value, BFloat16& at) { at = to_bfloat16(value); }

template <class T>
inline constexpr DType dtype_of = DType::f32;
template <>
inline constexpr DType dtype_of<BFloat16> = DType::bf16;
template <>
inline constexpr DType dtype_of<int32_t> = DType::i32;

// Element by element.
void convert(const float* from, BFloat16* to, int64_t count);
void convert(const BFloat16* from, float* to, int64_t count);

}  // namespace shardscope
