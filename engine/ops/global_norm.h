#pragma once

#include <string>

namespace shardscope {

// Attributes of op clip_by_global_norm.
struct ClipAttributes {
  double max_norm = 1;
  bool operator==(const ClipAttributes&) const = default;
};
std::string to_string(const ClipAttributes& attributes);

}  // namespace shardscope
