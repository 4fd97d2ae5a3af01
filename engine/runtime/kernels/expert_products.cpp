#include "engine/runtime/kernels/expert_products.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "engine/base/align.h"
#include "engine/base/error.h"
#include "engine/ops/expert_linear.h"
#include "engine/runtime/kernels/serial_product.h"
#include "engine/runtime/kernels/storage.h"

namespace shardscope {

namespace {

constexpr int64_t row_unit = 32;

bool is_eigen(const MatrixProductShape& shape) { return matrix_product_method(shape) == MatrixProductMethod::eigen; }

// How many rows a product of `count` is made of.
int64_t padded(int64_t count, MatrixProductShape shape, int64_t MatrixProductShape::*size) {
  shape.*size = count;
  return is_eigen(shape) ? count : round_up(count, row_unit);
}

// Products that oneDNN or tiles prepare are kept by the thread that runs them.
void run(const MatrixProductShape& shape, const void* a, const void* b, void* c, void* workspace, int64_t bytes) {
  if (is_eigen(shape)) return make_eigen_product(shape, bytes)->run(a, b, c, workspace);
  thread_local std::map<std::pair<MatrixProductShape, int64_t>, std::unique_ptr<SerialProduct>> made;
  std::unique_ptr<SerialProduct>& product = made[{shape, bytes}];
  if (!product) product = make_serial_product(shape, matrix_product_method(shape), false, bytes);
  product->run(a, b, c, workspace);
}

}  // namespace

SharedRows::SharedRows(const TensorView& view, int64_t entries)
    : data(static_cast<char*>(view.data)), bytes(view.shape.back() * byte_size(view.dtype)) {
  const int64_t rows = view.shape.back() == 0 ? 0 : view.count() / view.shape.back();
  share = rows == 0 ? 1 : std::max<int64_t>(1, entries / rows);
}

ExpertProducts::ExpertProducts(const KernelArguments& arguments, int thread, int64_t entries, int64_t in, int64_t out,
                               DType operands, DType result)
    : in_(in), out_(out), operands_(operands), result_(result) {
  const ExpertWorkspace sizes(entries, in, out, operands);
  const int64_t all = aligned_share(arguments.workspace_bytes, arguments.threads);
  if (sizes.bytes() > all) throw Failure(Error{"workspace", "the workspace of experts is too small", "", ""});
  char* next = static_cast<char*>(arguments.workspace) + thread * all;
  list_ = reinterpret_cast<int32_t*>(next);
  left_ = next += sizes.list;
  right_ = next += sizes.left;
  sums_ = reinterpret_cast<float*>(next += sizes.right);
  scratch_ = next += sizes.sums;
  scratch_bytes_ = sizes.product;
}

// `bytes` from `column` on of rows of entries, one behind the other, zeros behind `count`: where they are, if they
// are that already.
const char* ExpertProducts::gathered(const SharedRows& rows, int64_t first, int64_t count, int64_t padded,
                                     int64_t column, int64_t bytes, char* to) const {
  if (rows.share == 1 && bytes == rows.bytes && count == padded && follow_each_other(first, count)) {
    return rows.row(list_[first]);
  }
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * bytes, rows.row(list_[first + i]) + column, static_cast<size_t>(bytes));
  }
  std::memset(to + count * bytes, 0, static_cast<size_t>((padded - count) * bytes));
  return to;
}

void ExpertProducts::multiply(int64_t count, const SharedRows& x, const void* kernel, bool transposed,
                              const SharedRows& y) const {
  MatrixProductShape shape{.n = transposed ? in_ : out_, .k = transposed ? out_ : in_, .transpose_b = !transposed};
  shape.lda = shape.k;
  shape.ldb = in_;
  shape.ldc = shape.n;
  shape.operands = operands_;
  shape.result = result_;
  char* const gathered_x = transposed ? right_ : left_;
  char* const made = transposed ? left_ : right_;
  for (int64_t first = 0; first < count; first += expert_rows) {
    const int64_t rows = std::min(expert_rows, count - first);
    shape.m = padded(rows, shape, &MatrixProductShape::m);
    const char* from = gathered(x, first, rows, shape.m, 0, x.bytes, gathered_x);
    const bool direct = y.share == 1 && rows == shape.m && follow_each_other(first, rows);
    char* to = direct ? y.row(list_[first]) : made;
    run(shape, from, kernel, to, scratch_, scratch_bytes_);
    if (direct) continue;
    for (int64_t i = 0; i < rows; ++i) {
      std::memcpy(y.row(list_[first + i]), to + i * y.bytes, static_cast<size_t>(y.bytes));
    }
  }
}

void ExpertProducts::sum(int64_t count, const SharedRows& x, const SharedRows& dy, void* dkernel) const {
  char* to = static_cast<char*>(dkernel);
  if (count == 0) std::memset(to, 0, static_cast<size_t>(in_ * out_ * byte_size(result_)));
  // Sums of several products are f32: where they are to be narrower, of so many rows of the kernel at a time.
  const bool at_once = result_ == DType::f32 || count <= expert_rows;
  const int64_t block = at_once ? out_ : std::min(out_, expert_sum_rows);
  for (int64_t row = 0; row < out_ && count > 0; row += block) {
    MatrixProductShape shape{.m = std::min(block, out_ - row), .n = in_, .transpose_a = true};
    shape.lda = shape.m;
    shape.ldb = shape.ldc = in_;
    shape.operands = operands_;
    shape.result = at_once ? result_ : DType::f32;
    char* result = to + row * in_ * byte_size(result_);
    for (int64_t first = 0; first < count; first += expert_rows) {
      const int64_t rows = std::min(expert_rows, count - first), element = byte_size(operands_);
      shape.k = padded(rows, shape, &MatrixProductShape::k);
      shape.accumulate = first > 0;
      const char* left = gathered(dy, first, rows, shape.k, row * element, shape.m * element, right_);
      const char* right = gathered(x, first, rows, shape.k, 0, x.bytes, left_);
      run(shape, left, right, at_once ? static_cast<void*>(result) : sums_, scratch_, scratch_bytes_);
    }
    if (!at_once) convert(sums_, reinterpret_cast<BFloat16*>(result), shape.m * in_);
  }
}

}  // namespace shardscope
