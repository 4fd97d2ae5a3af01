#pragma once

#include <compare>

namespace shardscope {

// A step of the plan that is shown: its index in Program::steps.
struct StepRef {
  int index = 0;
  auto operator<=>(const StepRef&) const = default;
};

}  // namespace shardscope
