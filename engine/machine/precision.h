#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/base/shape.h"

namespace shardscope {

// Number formats that the matrix units of devices multiply, from wide to narrow.
enum class Precision : uint8_t { f32, tf32, f16, bf16, fp8, fp4 };

std::string_view name(Precision precision);
// Bytes of one element in memory (a tf32 takes those of an f32).
double byte_size(Precision precision);
// The format in which products of arrays of this type are computed.
Precision precision_of(DType dtype);
// What a product of this precision is computed in where a device states no rate for it: the precision itself, then the
// next that can hold its values. fp4: fp4, fp8, bf16, f16, f32.
std::span<const Precision> substitutes(Precision precision);

}  // namespace shardscope
