#pragma once

#include <cstdint>
#include <string>

#include "engine/base/shape.h"

namespace shardscope {

// Attributes of op cast.
struct CastAttributes {
  DType to = DType::f32;
  bool operator==(const CastAttributes&) const = default;
};
std::string to_string(const CastAttributes& attributes);

}  // namespace shardscope
