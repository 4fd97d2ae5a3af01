#pragma once

#include <string>

namespace shardscope {

// Attributes of op clip: the bounds; infinite where there is none.
struct ClipBoundsAttributes {
  double minimum = 0, maximum = 0;
  bool operator==(const ClipBoundsAttributes&) const = default;
};
std::string to_string(const ClipBoundsAttributes& attributes);

}  // namespace shardscope
