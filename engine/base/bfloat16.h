#pragma once

#include <cstdint>

namespace shardscope {

// The upper half of a float: 8 bits of exponent, 7 of fraction.
struct BFloat16 {
  uint16_t bits;
  bool operator==(const BFloat16&) const = default;  // of the bits
};

// Exact.
[[gnu::always_inline]] inline float to_float(BFloat16 x) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(x.bits) << 16);
}

// The nearest one, of two equally near the one with an even last bit; what is too large becomes infinity, NaN stays a
// (quiet) NaN of the same sign. As jax.numpy.bfloat16 converts. Vectorises.
[[gnu::always_inline]] inline BFloat16 to_bfloat16(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t rounded = bits + 0x7FFF + ((bits >> 16) & 1);
  const uint32_t chosen = x != x ? bits | 0x400000 : rounded;
  return {static_cast<uint16_t>(chosen >> 16)};
}

}  // namespace shardscope
