#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "engine/base/shape.h"

namespace shardscope {

// Bytes of an element of the types of safetensors that are read as f32: F16 (IEEE 754 half), F64, F8_E4M3 and F8_E5M2
// (OCP 8-bit floats), and U8; nothing for others.
std::optional<int64_t> bytes_of_foreign_float(std::string_view safetensors_name);

// Elements of such a type as f32, rounded to the nearest.
void widen_foreign_floats(std::string_view safetensors_name, std::span<const std::byte> from, std::span<std::byte> f32);

// f32 as bf16, rounded to the nearest, or bf16 as f32.
void cast_floats(DType from, std::span<const std::byte> elements, DType to, std::span<std::byte> out);

}  // namespace shardscope
