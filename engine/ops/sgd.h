#pragma once

#include <string>

#include "engine/ops/schedule.h"

namespace shardscope {

// Attributes of op sgd.
struct SgdAttributes {
  Schedule learning_rate = 0.01;
  double decay = 0.9;
  bool operator==(const SgdAttributes&) const = default;
};
std::string to_string(const SgdAttributes& attributes);

}  // namespace shardscope
