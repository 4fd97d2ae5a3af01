#include "engine/runtime/kernels/matrix_product.h"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <vector>

#include "engine/base/align.h"
#include "engine/base/error.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/serial_product.h"

namespace shardscope {

namespace {

constexpr int64_t smallest_packed_rows = 256;
constexpr int64_t smallest_share = 64;  // rows or columns that are worth a thread

// Borders of `parts` nearly equal ranges of [0, size), whole vectors where that is possible.
int64_t border(int64_t size, int64_t part, int64_t parts) {
  return part == parts ? size : round_up(size, smallest_share) / smallest_share * part / parts * smallest_share;
}

// The largest divisor of `threads` that leaves each part of `size` worth a thread.
int parts(int64_t size, int threads) {
  int count = threads;
  while (count > 1 && (threads % count != 0 || size < smallest_share * count)) --count;
  return count;
}

bool is_dense(const MatrixProductShape& shape) {
  return shape.lda == (shape.transpose_a ? shape.m : shape.k) && shape.ldb == (shape.transpose_b ? shape.k : shape.n) &&
         shape.ldc == shape.n;
}

void check_types(const MatrixProductShape& shape) {
  const bool widening = shape.operands == DType::bf16 && shape.result == DType::f32;
  const bool known = shape.operands == shape.result && shape.operands != DType::i32;
  if ((widening || known) && !(shape.accumulate && shape.result == DType::bf16)) return;
  throw Failure(Error{"dtype",
                      fmt::format("no matrix product of {} operands {} a {} result", name(shape.operands),
                                  shape.accumulate ? "adds to" : "has", name(shape.result)),
                      "", "products are f32 to f32, bf16 to f32 and bf16 to bf16; only f32 results are added to"});
}

}  // namespace

std::string_view name(MatrixProductMethod method) {
  switch (method) {
    case MatrixProductMethod::onednn: return "oneDNN";
    case MatrixProductMethod::onednn_widened: return "oneDNN, operands widened to f32";
    case MatrixProductMethod::eigen: return "Eigen";
    case MatrixProductMethod::eigen_widened: return "Eigen, operands widened to f32";
  }
  return "?";
}

MatrixProductMethod matrix_product_method(const MatrixProductShape& shape) {
  const bool small = shape.m * shape.k + shape.k * shape.n + shape.m * shape.n <= largest_eigen_product;
  const bool eigen = small || !has_onednn();
  if (shape.operands == DType::f32) return eigen ? MatrixProductMethod::eigen : MatrixProductMethod::onednn;
  if (eigen) return MatrixProductMethod::eigen_widened;
  return has_onednn_bf16() ? MatrixProductMethod::onednn : MatrixProductMethod::onednn_widened;
}

std::unique_ptr<SerialProduct> make_serial_product(const MatrixProductShape& block, MatrixProductMethod method,
                                                   bool packed, int64_t workspace_bytes) {
  if (method == MatrixProductMethod::eigen) return make_eigen_product(block, workspace_bytes);
  const bool widened = method != MatrixProductMethod::onednn;
  if (block.operands == DType::bf16 && (widened || !is_dense(block))) {
    return make_tiled_product(block, widened, workspace_bytes);
  }
  return make_onednn_product(block, packed, workspace_bytes);
}

void throw_too_small(const MatrixProductShape& shape, int64_t workspace_bytes) {
  throw Failure(Error{"workspace",
                      fmt::format("no implementation of the ({}, {}) x ({}, {}) product fits a workspace of {} bytes",
                                  shape.m, shape.k, shape.k, shape.n, workspace_bytes),
                      "", "see matrix_product_workspace_bytes"});
}

struct MatrixProduct::Implementation {
  // A block of rows and columns of the result: one thread's work.
  struct Block {
    int64_t a_offset, b_offset, c_offset;  // bytes
    std::unique_ptr<SerialProduct> product;
  };
  std::vector<Block> blocks;
  int64_t share = 0;  // bytes of the workspace for each

  // Threads that share out rows pack the same B, threads that share out columns copy the same A where it is transposed;
  // packing costs about twice as much as copying.
  Implementation(const MatrixProductShape& shape, int threads, int64_t workspace_bytes)
      : share(aligned_share(workspace_bytes, threads)) {
    check_types(shape);
    const MatrixProductMethod method = matrix_product_method(shape);
    const bool columns_first = shape.transpose_a && shape.m < 2 * shape.n;
    const int first = parts(columns_first ? shape.n : shape.m, threads);
    const int second = parts(columns_first ? shape.m : shape.n, threads / first);
    const int rows = columns_first ? second : first, columns = columns_first ? first : second;
    const int64_t operand = byte_size(shape.operands);
    for (int i = 0; i < rows; ++i) {
      const int64_t m0 = border(shape.m, i, rows), m1 = border(shape.m, i + 1, rows);
      for (int j = 0; j < columns; ++j) {
        const int64_t n0 = border(shape.n, j, columns), n1 = border(shape.n, j + 1, columns);
        MatrixProductShape block = shape;
        block.m = m1 - m0;
        block.n = n1 - n0;
        blocks.push_back({(shape.transpose_a ? m0 : m0 * shape.lda) * operand,
                          (shape.transpose_b ? n0 * shape.ldb : n0) * operand,
                          (m0 * shape.ldc + n0) * byte_size(shape.result),
                          make_serial_product(block, method, shape.m >= smallest_packed_rows, share)});
      }
    }
  }
};

MatrixProduct::MatrixProduct(const MatrixProductShape& shape, int threads, int64_t workspace_bytes) {
  thread_local std::map<std::tuple<MatrixProductShape, int, int64_t>, std::weak_ptr<Implementation>> made;
  std::weak_ptr<Implementation>& entry = made[{shape, threads, workspace_bytes}];
  implementation_ = entry.lock();
  if (!implementation_) {
    implementation_ = std::make_shared<Implementation>(shape, threads, workspace_bytes);
    entry = implementation_;
  }
}

MatrixProduct::~MatrixProduct() = default;
MatrixProduct::MatrixProduct(MatrixProduct&&) noexcept = default;
MatrixProduct& MatrixProduct::operator=(MatrixProduct&&) noexcept = default;

void MatrixProduct::run(const void* a, const void* b, void* c, void* workspace) {
  const int count = static_cast<int>(implementation_->blocks.size());
  parallel_for(count, count, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      Implementation::Block& block = implementation_->blocks[i];
      block.product->run(static_cast<const char*>(a) + block.a_offset, static_cast<const char*>(b) + block.b_offset,
                         static_cast<char*>(c) + block.c_offset,
                         static_cast<char*>(workspace) + i * implementation_->share);
    }
  });
}

int64_t MatrixProduct::needed_bytes() const {
  const auto& blocks = implementation_->blocks;
  return implementation_->share * static_cast<int64_t>(blocks.size() - 1) + blocks.back().product->needed_bytes();
}

}  // namespace shardscope
