#pragma once

#include <cstdint>
#include <memory>

#include "engine/base/instruction_set.h"
#include "engine/runtime/kernels/matrix_product.h"

namespace shardscope {

// A matrix product on the calling thread: what one thread does of a MatrixProduct.
class SerialProduct {
 public:
  virtual ~SerialProduct() = default;
  virtual void run(const void* a, const void* b, void* c, void* workspace) = 0;
  virtual int64_t needed_bytes() const = 0;  // of the workspace
};

// Whether this build has oneDNN, and whether that has bf16 products of full speed on this processor.
bool has_onednn();
bool has_onednn_bf16();
// Keeps oneDNN, too, to these instructions. Before any product is made, or it is without effect.
void limit_onednn(InstructionSet most);

// oneDNN's matmul. With `packed`, B is first packed, in slices of k, into oneDNN's own blocked format where that fits
// the workspace. Throws Failure (code workspace) where nothing fits workspace_bytes.
std::unique_ptr<SerialProduct> make_onednn_product(const MatrixProductShape& shape, bool packed,
                                                   int64_t workspace_bytes);

// Eigen's blocked product, compiled for several generations of processors, with its blocks in the workspace: it
// allocates nothing and starts no threads. f32 alone. Throws like make_onednn_product.
std::unique_ptr<SerialProduct> make_eigen_product(const MatrixProductShape& shape, int64_t workspace_bytes);

// A product of bf16 operands, f32 or bf16, as products of dense tiles, which are copied to the workspace: widened to
// f32, or as they are for oneDNN, whose fast bf16 products take dense matrices alone (2.6). Throws like
// make_onednn_product.
std::unique_ptr<SerialProduct> make_tiled_product(const MatrixProductShape& shape, bool widened,
                                                  int64_t workspace_bytes);

// By matrix_product_method(shape) of the whole product, of which `block` is a part.
std::unique_ptr<SerialProduct> make_serial_product(const MatrixProductShape& block, MatrixProductMethod method,
                                                   bool packed, int64_t workspace_bytes);

// What all throw where the workspace is too small.
[[noreturn]] void throw_too_small(const MatrixProductShape& shape, int64_t workspace_bytes);

}  // namespace shardscope
