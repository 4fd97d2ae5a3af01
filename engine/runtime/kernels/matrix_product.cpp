#include "engine/runtime/kernels/matrix_product.h"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <vector>

#include "engine/base/error.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/serial_product.h"

namespace shardscope {

namespace {

constexpr int64_t smallest_packed_rows = 256;
constexpr int64_t smallest_share = 64;  // rows or columns that are worth a thread

// A block of rows and columns of the result: one thread's work.
struct Block {
  int64_t a_offset, b_offset, c_offset;
  std::unique_ptr<SerialProduct> product;
};

// Borders of `parts` nearly equal ranges of [0, size), whole vectors where that is possible.
int64_t border(int64_t size, int64_t part, int64_t parts) {
  return part == parts ? size : (size + 63) / 64 * part / parts * 64;
}

// The largest divisor of `threads` that leaves each part of `size` worth a thread.
int parts(int64_t size, int threads) {
  int count = threads;
  while (count > 1 && (threads % count != 0 || size < smallest_share * count)) --count;
  return count;
}

}  // namespace

MatrixProductMethod matrix_product_method(const MatrixProductShape& shape) {
  const bool small = shape.m * shape.k + shape.k * shape.n + shape.m * shape.n <= largest_eigen_product;
  return small || !has_onednn() ? MatrixProductMethod::eigen : MatrixProductMethod::onednn;
}

void throw_too_small(const MatrixProductShape& shape, int64_t workspace_bytes) {
  throw Failure(Error{"workspace",
                      fmt::format("no implementation of the ({}, {}) x ({}, {}) product fits a workspace of {} bytes",
                                  shape.m, shape.k, shape.k, shape.n, workspace_bytes),
                      "", "see matrix_product_workspace_bytes"});
}

struct MatrixProduct::Implementation {
  std::vector<Block> blocks;
  int64_t share = 0;  // bytes of the workspace for each

  // Threads that share out rows pack the same B, threads that share out columns copy the same A where it is transposed;
  // packing costs about twice as much as copying.
  Implementation(const MatrixProductShape& shape, int threads, int64_t workspace_bytes)
      : share(workspace_bytes / threads / 64 * 64) {
    const MatrixProductMethod method = matrix_product_method(shape);
    const bool columns_first = shape.transpose_a && shape.m < 2 * shape.n;
    const int first = parts(columns_first ? shape.n : shape.m, threads);
    const int second = parts(columns_first ? shape.m : shape.n, threads / first);
    const int rows = columns_first ? second : first, columns = columns_first ? first : second;
    for (int i = 0; i < rows; ++i) {
      const int64_t m0 = border(shape.m, i, rows), m1 = border(shape.m, i + 1, rows);
      for (int j = 0; j < columns; ++j) {
        const int64_t n0 = border(shape.n, j, columns), n1 = border(shape.n, j + 1, columns);
        MatrixProductShape block = shape;
        block.m = m1 - m0;
        block.n = n1 - n0;
        blocks.push_back({shape.transpose_a ? m0 : m0 * shape.lda, shape.transpose_b ? n0 * shape.ldb : n0,
                          m0 * shape.ldc + n0,
                          method == MatrixProductMethod::eigen
                              ? make_eigen_product(block, share)
                              : make_onednn_product(block, shape.m >= smallest_packed_rows, share)});
      }
    }
  }
};

MatrixProduct::MatrixProduct(const MatrixProductShape& shape, int threads, int64_t workspace_bytes, int lane) {
  thread_local std::map<std::tuple<MatrixProductShape, int, int64_t, int>, std::weak_ptr<Implementation>> made;
  std::weak_ptr<Implementation>& entry = made[{shape, threads, workspace_bytes, lane}];
  implementation_ = entry.lock();
  if (!implementation_) {
    implementation_ = std::make_shared<Implementation>(shape, threads, workspace_bytes);
    entry = implementation_;
  }
}

MatrixProduct::~MatrixProduct() = default;
MatrixProduct::MatrixProduct(MatrixProduct&&) noexcept = default;
MatrixProduct& MatrixProduct::operator=(MatrixProduct&&) noexcept = default;

void MatrixProduct::run(const float* a, const float* b, float* c, void* workspace) {
  const int count = static_cast<int>(implementation_->blocks.size());
  parallel_for(count, count, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      Block& block = implementation_->blocks[i];
      block.product->run(a + block.a_offset, b + block.b_offset, c + block.c_offset,
                         static_cast<char*>(workspace) + i * implementation_->share);
    }
  });
}

int64_t MatrixProduct::needed_bytes() const {
  const auto& blocks = implementation_->blocks;
  return implementation_->share * static_cast<int64_t>(blocks.size() - 1) + blocks.back().product->needed_bytes();
}

}  // namespace shardscope
