#pragma once

#include <string>

namespace shardscope {

// Attributes of op soft_cap.
struct SoftCapAttributes {
  double cap = 1;  // above 0
  bool operator==(const SoftCapAttributes&) const = default;
};
std::string to_string(const SoftCapAttributes& attributes);

}  // namespace shardscope
