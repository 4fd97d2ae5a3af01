#pragma once

#include <cstdint>
#include <string>

#include "engine/base/shape.h"

namespace shardscope {

// Attributes of op constant: every element of an array of `type` is `value`.
struct ConstantAttributes {
  double value = 0;
  TensorType type;
  bool operator==(const ConstantAttributes&) const = default;
};
std::string to_string(const ConstantAttributes& attributes);

}  // namespace shardscope
