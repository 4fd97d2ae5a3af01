#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/shape.h"

namespace shardscope {

// C (m, n) = A (m, k) B (k, n). Operands and result are f32, or the operands bf16 and the result bf16 or f32; sums are
// always f32. Storage: row i of A starts at i * lda (transpose_a: A is stored as (k, m) and row
// i of that starts at i * lda), B alike; C always as (m, n). With `accumulate` the product is added to C, which is f32
// then.
struct MatrixProductShape {
  int64_t m = 1, n = 1, k = 1;
  bool transpose_a = false, transpose_b = false;
  int64_t lda = 1, ldb = 1, ldc = 1;
  bool accumulate = false;
  DType operands = DType::f32, result = DType::f32;

  auto operator<=>(const MatrixProductShape&) const = default;
};

// Which library computes a product. Widened: its bf16 operands become f32, tile by tile in the workspace, as oneDNN has
// bf16 products only where the processor has them (AVX-512 BF16); emulated they take three times as long as f32.
enum class MatrixProductMethod : uint8_t { onednn, onednn_widened, eigen, eigen_widened };
std::string_view name(MatrixProductMethod method);

// Of the library that is loaded, "2.6.3"; empty in a build without oneDNN.
std::string onednn_version();

// Products whose two operands and result have at most this many elements together (m k + k n + m n) are Eigen's, where
// oneDNN's call costs more than the product. Measured with bench/matrix_product_benchmark (Zen 5, AVX-512, oneDNN
// 2.6.3), microseconds of Eigen and oneDNN: 8 x 8 x 8 0.11 and 0.43, 64 x 32 x 1 0.31 and 0.49, 32 x 32 x 32 0.54 and
// 0.75, 48 x 48 x 48 (6912 elements) 1.25 and 1.31, 256 x 32 x 1 (8480) 1.13 and 1.05, 64 x 64 x 64 (12288) 3.2
// and 2.6.
inline constexpr int64_t largest_eigen_product = 8192;

// A function of the shape, the build and the kind of processor.
MatrixProductMethod matrix_product_method(const MatrixProductShape& shape);

// A product prepared for one shape. The result is cut into one block for each of `threads` threads, so that they meet
// only at the end; each block is the work of oneDNN or Eigen on one thread. For oneDNN, B is first packed, in slices of
// k, into its own blocked format where that pays (many rows) and fits the workspace, which is worth 10 to 20 % of
// speed. Equal products that a thread makes share oneDNN's objects, some 60 kB of heap each: they do not run at the
// same time.
class MatrixProduct {
 public:
  // Throws Failure when no implementation gets along with workspace_bytes (code workspace) or with the types (dtype).
  MatrixProduct(const MatrixProductShape& shape, int threads, int64_t workspace_bytes);
  ~MatrixProduct();
  MatrixProduct(MatrixProduct&&) noexcept;
  MatrixProduct& operator=(MatrixProduct&&) noexcept;

  // `workspace` is 64-byte aligned and has needed_bytes() bytes.
  void run(const void* a, const void* b, void* c, void* workspace);
  int64_t needed_bytes() const;

 private:
  struct Implementation;
  std::shared_ptr<Implementation> implementation_;
};

}  // namespace shardscope
