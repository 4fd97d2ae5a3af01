#pragma once

#include <cstdint>
#include <limits>

namespace shardscope {

// e^x in operations that vectorise, within 2 ulp of the exact value. Zero where the result would be below the smallest
// normal number (x < -87.34), infinity above the largest; NaN stays NaN. Range reduction and polynomial as in Cephes'
// expf (S. Moshier).
[[gnu::always_inline]] inline float vector_exp(float x) {
  constexpr float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, kept in the low bits
  constexpr float lowest = -87.336540f, highest = 88.722836f;
  const float shifted = x * 1.44269504088896341f + shift;
  const float n = shifted - shift;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = (p * (r * r) + r) + 1.0f;
  const uint32_t exponent = __builtin_bit_cast(uint32_t, shifted) << 23;
  float y = __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, p) + exponent);
  y = x < lowest ? 0.0f : y;
  y = x > highest ? std::numeric_limits<float>::infinity() : y;
  return x != x ? x : y;
}

// 1 / (1 + e^-x).
[[gnu::always_inline]] inline float vector_sigmoid(float x) { return 1.0f / (1.0f + vector_exp(-x)); }

// tanh(x), within 3 ulp: a polynomial near 0 (Cephes' tanhf, S. Moshier), else by the exponential.
[[gnu::always_inline]] inline float vector_tanh(float x) {
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float small = p * z * x + x;
  const float size = x < 0.0f ? -x : x;
  const float large = 1.0f - 2.0f / (vector_exp(2.0f * size) + 1.0f);
  return size < 0.625f ? small : (x < 0.0f ? -large : large);
}

}  // namespace shardscope
