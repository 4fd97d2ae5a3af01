#pragma once

#include <cstdint>
#include <string>

namespace shardscope {

// Attributes of ops grouped_linear and grouped_linear_grad.
struct GroupedLinearAttributes {
  bool transposed = false;  // by the transposed kernels
  double filled = 1;        // share of the rows that are expected to be counted, for FLOPs
  bool wide = false;        // the result is f32, whatever the operands are
  bool operator==(const GroupedLinearAttributes&) const = default;
};
std::string to_string(const GroupedLinearAttributes& attributes);

}  // namespace shardscope
