#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace shardscope {

// What calibration times of an op (engine/runtime/timed_op.h).
struct KernelCase {
  std::string op;
  Attributes attributes;
  std::vector<TensorType> operands;
};

// Types of operands of so many rows, none of them a shape of the presets. Floating-point ones are of `dtype`.
struct CaseSizes {
  static constexpr int64_t features = 320, heads = 4, head_size = features / heads, sequence = 48;
  static constexpr int64_t experts = 128;  // more than the numbers that integer operands have

  int64_t rows = sequence;  // a multiple of `sequence`
  DType dtype = DType::f32;

  TensorType x() const { return {{rows, features}, dtype}; }
  TensorType row() const { return {{rows}, dtype}; }
  TensorType feature() const { return {{features}, dtype}; }
  TensorType scalar() const { return {{}, dtype}; }
  TensorType labels() const { return {{rows}, DType::i32}; }

  // The rows as sequences (b, s), with more dimensions behind.
  TensorType sequences(const Shape& behind) const { return {in_sequences(behind), dtype}; }
  TensorType tokens(const Shape& behind = {}) const { return {in_sequences(behind), DType::i32}; }

  // Of attention: (b, s, heads, head size) and (b, heads, s).
  int64_t length() const { return std::min<int64_t>(rows, 192); }
  TensorType query() const { return {{rows / length(), length(), heads, head_size}, dtype}; }
  TensorType log_sums() const { return {{rows / length(), heads, length()}, dtype}; }

 private:
  Shape in_sequences(const Shape& behind) const {
    Shape shape{rows / sequence, sequence};
    for (int64_t size : behind) shape.push_back(size);
    return shape;
  }
};

// Of each family of kernels that has cases, which is a function NAME_kernel_cases(sizes) beside its kernels. It is
// called for f32 and for bf16; a family that is timed in f32 alone has no cases in bf16. Families without cases are
// priced by the bytes that they touch. Written by the build (cmake/registered.cmake).
std::vector<std::vector<KernelCase>> kernel_case_families(const CaseSizes& sizes);

}  // namespace shardscope
