#pragma once

#include <cstdint>
#include <memory>

#include "engine/runtime/kernels/matrix_product.h"

namespace shardscope {

// A matrix product on the calling thread: what one thread does of a MatrixProduct.
class SerialProduct {
 public:
  virtual ~SerialProduct() = default;
  virtual void run(const float* a, const float* b, float* c, void* workspace) = 0;
  virtual int64_t needed_bytes() const = 0;  // of the workspace
};

// Whether this build has oneDNN.
bool has_onednn();

// oneDNN's matmul. With `packed`, B is first packed, in slices of k, into oneDNN's own blocked format where that fits
// the workspace. Equal products share nothing. Throws Failure (code workspace) where nothing fits workspace_bytes.
std::unique_ptr<SerialProduct> make_onednn_product(const MatrixProductShape& shape, bool packed,
                                                   int64_t workspace_bytes);

// Eigen's blocked product, compiled for several generations of processors, with its blocks in the workspace: it
// allocates nothing and starts no threads. Throws like make_onednn_product.
std::unique_ptr<SerialProduct> make_eigen_product(const MatrixProductShape& shape, int64_t workspace_bytes);

// What both throw.
[[noreturn]] void throw_too_small(const MatrixProductShape& shape, int64_t workspace_bytes);

}  // namespace shardscope
