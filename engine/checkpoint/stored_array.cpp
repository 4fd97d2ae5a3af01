#include "engine/checkpoint/stored_array.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace shardscope {

namespace {

constexpr uint64_t largest = INT64_MAX;

}  // namespace

template <class Json>
int64_t stored_number(const Json& json) {
  if (!json.is_number_integer() || (json.is_number_unsigned() && json.template get<uint64_t>() > largest)) {
    throw std::invalid_argument("a number is none, or too large");
  }
  return json.template get<int64_t>();
}

template <class Json>
Shape stored_shape(const Json& json) {
  if (!json.is_array() || json.size() > Shape::max_rank) throw std::invalid_argument("a shape is none");
  Shape shape;
  for (const auto& size : json) shape.push_back(stored_number(size));
  if (std::ranges::any_of(shape, [](int64_t size) { return size < 0; })) {
    throw std::invalid_argument("a size is negative");
  }
  return shape;
}

template int64_t stored_number(const nlohmann::json&);
template int64_t stored_number(const nlohmann::ordered_json&);
template Shape stored_shape(const nlohmann::json&);
template Shape stored_shape(const nlohmann::ordered_json&);

std::optional<int64_t> stored_bytes(const TensorType& type) {
  int64_t bytes = byte_size(type.dtype);
  for (int64_t size : type.shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes)) return std::nullopt;
  }
  return type.bytes();
}

}  // namespace shardscope
