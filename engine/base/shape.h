#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

// Sizes of an array's dimensions, major first (row-major storage). A scalar has an empty shape.
using Shape = std::vector<int64_t>;

enum class DType : uint8_t { f32, bf16, i32 };

// Product of the sizes; 1 for a scalar.
int64_t element_count(const Shape& shape);

// Bytes of one element.
int64_t byte_size(DType dtype);

std::string_view name(DType dtype);

bool is_float(DType dtype);

// jax.numpy.promote_types: the type in which values of both are computed.
DType promote(DType a, DType b);

// "(1024, 512)", as JAX and NumPy print it; "(512,)" for one dimension, "()" for a scalar.
std::string to_string(const Shape& shape);

struct TensorType {
  Shape shape;
  DType dtype = DType::f32;

  int64_t bytes() const { return element_count(shape) * byte_size(dtype); }
  bool operator==(const TensorType&) const = default;
};

}  // namespace shardscope
