#pragma once

#include <string>

namespace shardscope {

// Attributes of op sgd.
struct SgdAttributes {
  double learning_rate = 0.01, decay = 0.9;
  bool operator==(const SgdAttributes&) const = default;
};
std::string to_string(const SgdAttributes& attributes);

}  // namespace shardscope
