#pragma once

#include "engine/runtime/kernels/matrix_product.h"

namespace shardscope {

// Sizes of the blocks that Eigen packs: rows x depth of its first operand, depth x columns of the second. Eigen's
// arrays are by columns, so its first operand is our B, transposed: `rows` are columns of our result.
struct EigenBlocks {
  int64_t rows, columns, depth;
  int64_t first_count() const { return rows * depth; }  // floats
  int64_t second_count() const { return columns * depth; }
};

// C = A B, or C += A B. `first` and `second` hold the packed blocks, 64-byte aligned. eigen_gemm.cpp is compiled once
// for each of these, with that generation's instructions.
using EigenGemm = void(const MatrixProductShape& shape, const EigenBlocks& blocks, const float* a, const float* b,
                       float* c, float* first, float* second);
EigenGemm eigen_gemm_baseline;
EigenGemm eigen_gemm_v3;  // x86-64-v3: AVX2, FMA
EigenGemm eigen_gemm_v4;  // x86-64-v4: AVX-512

}  // namespace shardscope
