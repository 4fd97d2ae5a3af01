#pragma once

#include <cstdint>
#include <string>

namespace shardscope {

// Attributes of ops that multiply by a constant: scale, and the losses, which multiply their sum (1 / rows: a mean).
struct ScaleAttributes {
  double scale = 1;
  bool operator==(const ScaleAttributes&) const = default;
};
std::string to_string(const ScaleAttributes& attributes);

}  // namespace shardscope
