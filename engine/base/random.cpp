#include "engine/base/random.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/base/sha1.h"
#include "engine/base/vector_clones.h"

namespace shardscope {

namespace {

constexpr size_t block_size = 64;
using Bits = std::array<uint32_t, block_size>;
using Floats = std::array<float, block_size>;

[[gnu::always_inline]] inline Key threefry(Key key, uint32_t x0, uint32_t x1) {
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t k[3] = {key.k0, key.k1, key.k0 ^ key.k1 ^ 0x1BD11BDAu};
  x0 += k[0];
  x1 += k[1];
#pragma GCC unroll 5
  for (uint32_t group = 1; group <= 5; ++group) {
#pragma GCC unroll 4
    for (int round = 0; round < 4; ++round) {
      x0 += x1;
      x1 = std::rotl(x1, rotations[(group - 1) % 2][round]);
      x1 ^= x0;
    }
    x0 += k[group % 3];
    x1 += k[(group + 1) % 3] + group;
  }
  return {x0, x1};
}

inline Key threefry(Key key, uint64_t counter) {
  return threefry(key, static_cast<uint32_t>(counter >> 32), static_cast<uint32_t>(counter));
}

[[gnu::always_inline]] inline float to_unit(uint32_t bits) {
  return std::bit_cast<float>((bits >> 9) | 0x3F800000u) - 1.0f;
}

// XLA fuses this multiplication and addition, rounding once; so does the way over double, on every machine.
[[gnu::always_inline]] inline float to_uniform(uint32_t bits, float low, float high) {
  const float value = static_cast<float>(static_cast<double>(to_unit(bits)) * (high - low) + low);
  return value < low ? low : value;
}

// Natural logarithm of a positive normal number (Cephes logf), in operations that vectorise.
[[gnu::always_inline]] inline float natural_log(float x) {
  const int32_t bits = std::bit_cast<int32_t>(x);
  const int32_t exponent = (bits - 0x3F3504F3) >> 23;
  const float f = std::bit_cast<float>(bits - exponent * (1 << 23)) - 1.0f;
  const float e = static_cast<float>(exponent);
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  const float square = f * f;
  const float tail = p * f * square - 2.12194440e-4f * e - 0.5f * square;
  return (f + tail) + 0.693359375f * e;
}

// Inverse of the error function on (-1, 1): M. Giles, "Approximating the erfinv function", GPU Computing Gems, 2010.
[[gnu::always_inline]] inline float inverse_erf(float x) {
  constexpr float near[9] = {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, 0.00021858087f,
                             -0.00125372503f, -0.00417768164f, 0.246640727f,    1.50140941f};
  constexpr float far[9] = {-0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f, 0.00573950773f,
                            -0.0076224613f,   0.00943887047f,  1.00167406f,    2.83297682f};
  const float w = -natural_log(1.0f - x * x);
  const float root = std::sqrt(w);
  const bool is_near = w < 5.0f;
  const float t = is_near ? w - 2.5f : root - 3.0f;
  float p = is_near ? near[0] : far[0];
#pragma GCC unroll 8
  for (int i = 1; i < 9; ++i) p = p * t + (is_near ? near[i] : far[i]);
  return p * x;
}

constexpr float sqrt2 = 1.41421356237309504880f;

// What jax.random.normal and truncated_normal draw: sqrt(2) erfinv(uniform(low, high)), clamped.
struct NormalRange {
  float low, high, smallest, largest;
};

NormalRange whole_range() {
  const float infinity = std::numeric_limits<float>::infinity();
  return {std::nextafter(-1.0f, 0.0f), 1.0f, -infinity, infinity};
}

NormalRange truncated_range(float lower, float upper) {
  const float infinity = std::numeric_limits<float>::infinity();
  return {std::erf(lower / sqrt2), std::erf(upper / sqrt2), std::nextafter(lower, infinity),
          std::nextafter(upper, -infinity)};
}

[[gnu::always_inline]] inline float to_normal(uint32_t bits, const NormalRange& range) {
  const float value = sqrt2 * inverse_erf(to_uniform(bits, range.low, range.high));
  const float raised = value < range.smallest ? range.smallest : value;
  return raised > range.largest ? range.largest : raised;
}

struct IntegerRange {
  uint32_t low, span, multiplier;
};

IntegerRange integer_range(int32_t low, int32_t high) {
  const uint32_t span = static_cast<uint32_t>(high) - static_cast<uint32_t>(low);
  const uint32_t power = 65536u % span;
  return {static_cast<uint32_t>(low), span, power * power % span};
}

int32_t to_integer(uint32_t high_bits, uint32_t low_bits, const IntegerRange& range) {
  const uint32_t offset = (high_bits % range.span) * range.multiplier + low_bits % range.span;
  return static_cast<int32_t>(range.low + offset % range.span);
}

SHARDSCOPE_INTEGER_CLONES void make_bits(Key key, uint64_t first, Bits& out) {
  const uint32_t high = static_cast<uint32_t>(first >> 32), low = static_cast<uint32_t>(first);
  for (uint32_t i = 0; i < block_size; ++i) {
    const uint32_t counter = low + i;
    const Key words = threefry(key, counter < low ? high + 1 : high, counter);
    out[i] = words.k0 ^ words.k1;
  }
}

SHARDSCOPE_VECTOR_CLONES void make_uniform(const Bits& bits, float low, float high, Floats& out) {
  for (size_t i = 0; i < block_size; ++i) out[i] = to_uniform(bits[i], low, high);
}

SHARDSCOPE_VECTOR_CLONES void make_normal(const Bits& bits, const NormalRange& range, Floats& out) {
  const NormalRange r = range;
  for (size_t i = 0; i < block_size; ++i) out[i] = to_normal(bits[i], r);
}

template <class Block, class T, class Make>
void fill_blocks(Key key, uint64_t first, std::span<T> out, Make make) {
  Bits bits;
  Block values;
  for (size_t done = 0; done < out.size(); done += block_size) {
    make_bits(key, first + done, bits);
    make(bits, values);
    std::memcpy(out.data() + done, values.data(), std::min(block_size, out.size() - done) * sizeof(T));
  }
}

}  // namespace

Key key_from_seed(int64_t seed) {
  const uint64_t bits = static_cast<uint64_t>(seed);
  return {static_cast<uint32_t>(bits >> 32), static_cast<uint32_t>(bits)};
}

Key fold_in(Key key, uint32_t data) { return threefry(key, data); }

Key split(Key key, uint64_t index) { return threefry(key, index); }

uint32_t linen_fold(std::span<const std::string> module_path, int64_t counter) {
  std::string text;
  for (const std::string& name : module_path) text += name;
  const uint64_t number = static_cast<uint64_t>(counter);
  for (int byte = (std::bit_width(number) + 7) / 8 - 1; byte >= 0; --byte) {
    text += static_cast<char>(number >> (8 * byte));
  }
  const Sha1Digest digest = sha1(text);
  return uint32_t{digest[0]} << 24 | uint32_t{digest[1]} << 16 | uint32_t{digest[2]} << 8 | digest[3];
}

Key linen_key(Key root, std::span<const std::string> module_path, int64_t counter) {
  return fold_in(root, linen_fold(module_path, counter));
}

Key key_at(const StepKey& key, int64_t step) {
  const Key made = fold_in(key.key, key.stride * static_cast<uint32_t>(step) + key.offset);
  return key.fold ? fold_in(made, *key.fold) : made;
}

Key nnx_key(int64_t seed, uint32_t n) { return fold_in(key_from_seed(seed), n); }

uint32_t random_bits(Key key, uint64_t index) {
  const Key words = threefry(key, index);
  return words.k0 ^ words.k1;
}

float uniform(Key key, uint64_t index, float low, float high) { return to_uniform(random_bits(key, index), low, high); }

float normal(Key key, uint64_t index) { return to_normal(random_bits(key, index), whole_range()); }

float truncated_normal(Key key, uint64_t index, float lower, float upper) {
  return to_normal(random_bits(key, index), truncated_range(lower, upper));
}

bool bernoulli(Key key, uint64_t index, float p) { return to_unit(random_bits(key, index)) < p; }

int32_t randint(Key key, uint64_t index, int32_t low, int32_t high) {
  return to_integer(random_bits(split(key, 0), index), random_bits(split(key, 1), index), integer_range(low, high));
}

void fill_bits(Key key, uint64_t first, std::span<uint32_t> out) {
  fill_blocks<Bits>(key, first, out, [](const Bits& bits, Bits& values) { values = bits; });
}

void fill_uniform(Key key, uint64_t first, float low, float high, std::span<float> out) {
  fill_blocks<Floats>(key, first, out,
                      [=](const Bits& bits, Floats& values) { make_uniform(bits, low, high, values); });
}

void fill_normal(Key key, uint64_t first, std::span<float> out) {
  const NormalRange range = whole_range();
  fill_blocks<Floats>(key, first, out, [&](const Bits& bits, Floats& values) { make_normal(bits, range, values); });
}

void fill_truncated_normal(Key key, uint64_t first, float lower, float upper, std::span<float> out) {
  const NormalRange range = truncated_range(lower, upper);
  fill_blocks<Floats>(key, first, out, [&](const Bits& bits, Floats& values) { make_normal(bits, range, values); });
}

void fill_bernoulli(Key key, uint64_t first, float p, std::span<uint8_t> out) {
  fill_blocks<std::array<uint8_t, block_size>>(key, first, out, [p](const Bits& bits, auto& values) {
    for (size_t i = 0; i < block_size; ++i) values[i] = to_unit(bits[i]) < p;
  });
}

void fill_randint(Key key, uint64_t first, int32_t low, int32_t high, std::span<int32_t> out) {
  const IntegerRange range = integer_range(low, high);
  const Key high_key = split(key, 0), low_key = split(key, 1);
  Bits high_bits, low_bits;
  for (size_t done = 0; done < out.size(); done += block_size) {
    make_bits(high_key, first + done, high_bits);
    make_bits(low_key, first + done, low_bits);
    const size_t count = std::min(block_size, out.size() - done);
    for (size_t i = 0; i < count; ++i) out[done + i] = to_integer(high_bits[i], low_bits[i], range);
  }
}

}  // namespace shardscope
