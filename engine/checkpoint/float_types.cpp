#include "engine/checkpoint/float_types.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "engine/base/bfloat16.h"

namespace shardscope {

namespace {

template <class To, class From, class Convert>
void convert(std::span<const std::byte> from, std::span<std::byte> to, Convert one) {
  for (size_t i = 0; i < to.size() / sizeof(To); ++i) {
    From value;
    std::memcpy(&value, from.data() + i * sizeof value, sizeof value);
    const To result = one(value);
    std::memcpy(to.data() + i * sizeof result, &result, sizeof result);
  }
}

// 1 bit of sign, 5 of exponent, 10 of fraction. Exact.
float of_half(uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const float magnitude = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                          : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                          : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return (half >> 15) != 0 ? -magnitude : magnitude;
}

// 1 bit of sign, 4 of exponent, 3 of fraction; no infinities. Exact.
float of_e4m3(uint8_t bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  const float magnitude = exponent == 15 && fraction == 7 ? NAN
                          : exponent == 0                 ? std::ldexp(static_cast<float>(fraction), -9)
                                                          : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  return (bits >> 7) != 0 ? -magnitude : magnitude;
}

}  // namespace

std::optional<int64_t> bytes_of_foreign_float(std::string_view safetensors_name) {
  if (safetensors_name == "F16") return 2;
  if (safetensors_name == "F64") return 8;
  if (safetensors_name == "F8_E4M3" || safetensors_name == "F8_E5M2" || safetensors_name == "U8") return 1;
  return std::nullopt;
}

void widen_foreign_floats(std::string_view safetensors_name, std::span<const std::byte> from,
                          std::span<std::byte> f32) {
  if (safetensors_name == "F16") convert<float, uint16_t>(from, f32, of_half);
  else if (safetensors_name == "U8")
    convert<float, uint8_t>(from, f32, [](uint8_t x) { return static_cast<float>(x); });
  else if (safetensors_name == "F8_E4M3") convert<float, uint8_t>(from, f32, of_e4m3);
  // The upper half of a half.
  else if (safetensors_name == "F8_E5M2")
    convert<float, uint8_t>(from, f32, [](uint8_t x) { return of_half(static_cast<uint16_t>(x << 8)); });
  else convert<float, double>(from, f32, [](double x) { return static_cast<float>(x); });
}

void cast_floats(DType from, std::span<const std::byte> elements, DType to, std::span<std::byte> out) {
  if (from == to) std::memcpy(out.data(), elements.data(), out.size());
  else if (to == DType::bf16) convert<BFloat16, float>(elements, out, [](float x) { return to_bfloat16(x); });
  else convert<float, BFloat16>(elements, out, [](BFloat16 x) { return to_float(x); });
}

}  // namespace shardscope
