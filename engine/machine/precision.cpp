#include "engine/machine/precision.h"

#include <array>

#include "engine/base/enum_count.h"

namespace shardscope {

std::string_view name(Precision precision) {
  static constexpr std::array<std::string_view, 6> names = {"f32", "tf32", "f16", "bf16", "fp8", "fp4"};
  static_assert(names.size() == enum_count<Precision>);
  return names[static_cast<size_t>(precision)];
}

double byte_size(Precision precision) {
  static constexpr std::array<double, 6> bytes = {4, 4, 2, 2, 1, 0.5};
  return bytes[static_cast<size_t>(precision)];
}

Precision precision_of(DType dtype) {
  switch (dtype) {
    case DType::bf16: return Precision::bf16;
    case DType::f16: return Precision::f16;
    case DType::f8: return Precision::fp8;
    case DType::f32:
    case DType::i32: break;
  }
  return Precision::f32;
}

std::span<const Precision> substitutes(Precision precision) {
  using enum Precision;
  static constexpr Precision narrow[] = {fp4, fp8, bf16, f16, f32}, half[] = {f16, bf16, f32}, single[] = {tf32, f32};
  const std::span<const Precision> all = narrow;
  switch (precision) {
    case fp4: return all;
    case fp8: return all.subspan(1);
    case bf16: return all.subspan(2);
    case f32: return all.subspan(4);
    case f16: return half;
    case tf32: return single;
  }
  return all.subspan(4);
}

}  // namespace shardscope
