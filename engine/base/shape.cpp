#include "engine/base/shape.h"

#include "engine/base/error.h"

namespace shardscope {

void Shape::too_many(size_t rank) {
  throw Failure(
      Error{"rank", "an array has " + std::to_string(rank) + " dimensions", "", "at most " + std::to_string(max_rank)});
}

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

int64_t byte_size(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32: return 4;
    case DType::bf16:
    case DType::f16: return 2;
    case DType::f8: return 1;
  }
  return 4;
}

std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::f32: return "f32";
    case DType::bf16: return "bf16";
    case DType::i32: return "i32";
    case DType::f16: return "f16";
    case DType::f8: return "f8";
  }
  return "?";
}

bool is_float(DType dtype) { return dtype != DType::i32; }

DType promote(DType a, DType b) {
  if (a == b || b == DType::i32) return a;
  return a == DType::i32 ? b : DType::f32;
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace shardscope
