#pragma once

#include <cstdint>
#include <string>

#include "engine/base/shape.h"

namespace shardscope {

// Attributes of ops expert_linear and expert_linear_grad.
struct ExpertLinearAttributes {
  int64_t experts = 1;      // of the whole array of kernels
  bool transposed = false;  // by the transposed kernels
  bool wide = false;        // the result is f32, whatever the operands are
  bool operator==(const ExpertLinearAttributes&) const = default;
};
std::string to_string(const ExpertLinearAttributes& attributes);

// Rows that are multiplied at a time, and rows of a kernel whose gradient in less than f32 is summed at a time.
inline constexpr int64_t expert_rows = 256, expert_sum_rows = 256;

// Scratch memory that a thread takes for kernels (out, in) of experts, in bytes, whole lines of each: a list of
// entries, rows of both sides, sums in f32, and what products take.
struct ExpertWorkspace {
  int64_t list, left, right, sums, product;

  ExpertWorkspace(int64_t entries, int64_t in, int64_t out, DType operands);
  int64_t bytes() const { return list + left + right + sums + product; }
};

}  // namespace shardscope
