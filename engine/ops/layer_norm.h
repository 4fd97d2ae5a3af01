#pragma once

#include <cstdint>
#include <string>

namespace shardscope {

// Attributes of the layer_norm ops.
struct LayerNormAttributes {
  double epsilon = 1e-6;
  int64_t features = 1;  // the whole size of the normalised dimension
  bool operator==(const LayerNormAttributes&) const = default;
};
std::string to_string(const LayerNormAttributes& attributes);

}  // namespace shardscope
