#pragma once

#include <cstdint>
#include <string>

namespace shardscope {

// Attributes of ops expert_linear and expert_linear_grad.
struct ExpertLinearAttributes {
  int64_t experts = 1;      // of the whole array of kernels
  bool transposed = false;  // by the transposed kernels
  bool operator==(const ExpertLinearAttributes&) const = default;
};
std::string to_string(const ExpertLinearAttributes& attributes);

// Rows that are multiplied at a time, and the floats of scratch memory that a thread takes for kernels (out, in).
inline constexpr int64_t expert_rows = 64;
int64_t expert_workspace_floats(int64_t slots, int64_t in, int64_t out);

}  // namespace shardscope
