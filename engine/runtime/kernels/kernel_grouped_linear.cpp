#include <algorithm>

#include "engine/base/align.h"
#include "engine/ops/grouped_linear.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/serial_product.h"

namespace shardscope {

namespace {

// The groups of rows (q, p, c, ...) of the part held here, by counts (q, p, n).
class RowGroups {
 public:
  RowGroups(const TensorView& counts, int64_t rows)
      : counts_(counts.i32()), q_(counts.shape[0]), p_(counts.shape[1]), n_(counts.shape[2]), rows_(rows) {}

  int64_t experts() const { return p_ * n_; }
  // Calls visit(first row, count) for each group of an expert that is not empty.
  template <class Visit>
  void for_each_group(int64_t expert, Visit visit) const {
    const int64_t p = expert / n_, in_block = expert % n_;
    for (int64_t q = 0; q < q_; ++q) {
      const int32_t* counts = counts_ + (q * p_ + p) * n_;
      int64_t first = 0;
      for (int64_t e = 0; e < in_block; ++e) first += counts[e];
      if (counts[in_block] > 0) visit((q * p_ + p) * rows_ + first, int64_t{counts[in_block]});
    }
  }
  // Calls visit(first row, count) for what no group has of each (q, p).
  template <class Visit>
  void for_each_rest(Visit visit) const {
    for (int64_t block = 0; block < q_ * p_; ++block) {
      int64_t used = 0;
      for (int64_t e = 0; e < n_; ++e) used += counts_[block * n_ + e];
      visit(block * rows_ + used, rows_ - used);
    }
  }

 private:
  const int32_t* counts_;
  int64_t q_, p_, n_, rows_;
};

// A thread's part of the workspace.
class ThreadBlocks {
 public:
  explicit ThreadBlocks(const KernelArguments& arguments)
      : begin_(static_cast<char*>(arguments.workspace)),
        bytes_(aligned_share(arguments.workspace_bytes, arguments.threads)) {}

  void multiply(const MatrixProductShape& shape, const float* a, const float* b, float* c, int thread) const {
    make_eigen_product(shape, bytes_)->run(a, b, c, begin_ + thread * bytes_);
  }

 private:
  char* begin_;
  int64_t bytes_;
};

// (rows, counts, kernels) -> rows.
class GroupedLinearKernel : public Kernel {
 public:
  explicit GroupedLinearKernel(const KernelArguments& arguments)
      : transposed_(arguments.attributes->as<GroupedLinearAttributes>().transposed),
        groups_(arguments.inputs[1], arguments.inputs[0].shape[2]),
        in_(arguments.inputs[0].shape[3]),
        out_(arguments.outputs[0].shape[3]),
        x_(arguments.inputs[0].f32()),
        kernels_(arguments.inputs[2].f32()),
        y_(arguments.outputs[0].f32()),
        threads_(arguments.threads),
        blocks_(arguments) {}

  void run(const StepContext&) override {
    groups_.for_each_rest([&](int64_t first, int64_t count) { std::fill_n(y_ + first * out_, count * out_, 0.0f); });
    parallel_for(threads_, groups_.experts(), 1, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t expert = begin; expert < end; ++expert) {
        groups_.for_each_group(expert, [&](int64_t first, int64_t count) {
          MatrixProductShape shape{.m = count, .n = out_, .k = in_, .transpose_b = !transposed_};
          shape.lda = in_;
          shape.ldb = transposed_ ? out_ : in_;
          shape.ldc = out_;
          blocks_.multiply(shape, x_ + first * in_, kernels_ + expert * in_ * out_, y_ + first * out_, thread);
        });
      }
    });
  }

 private:
  bool transposed_;
  RowGroups groups_;
  int64_t in_, out_;
  const float* x_;
  const float* kernels_;
  float* y_;
  int threads_;
  ThreadBlocks blocks_;
};

// (x, counts, dy) -> d kernels.
class GroupedLinearGradKernel : public Kernel {
 public:
  explicit GroupedLinearGradKernel(const KernelArguments& arguments)
      : groups_(arguments.inputs[1], arguments.inputs[0].shape[2]),
        in_(arguments.inputs[0].shape[3]),
        out_(arguments.inputs[2].shape[3]),
        x_(arguments.inputs[0].f32()),
        dy_(arguments.inputs[2].f32()),
        dkernels_(arguments.outputs[0].f32()),
        threads_(arguments.threads),
        blocks_(arguments) {}

  void run(const StepContext&) override {
    parallel_for(threads_, groups_.experts(), 1, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t expert = begin; expert < end; ++expert) {
        float* to = dkernels_ + expert * in_ * out_;
        bool begun = false;
        groups_.for_each_group(expert, [&](int64_t first, int64_t count) {
          MatrixProductShape shape{.m = out_, .n = in_, .k = count, .transpose_a = true};
          shape.lda = out_;
          shape.ldb = in_;
          shape.ldc = in_;
          shape.accumulate = begun;
          blocks_.multiply(shape, dy_ + first * out_, x_ + first * in_, to, thread);
          begun = true;
        });
        if (!begun) std::fill_n(to, in_ * out_, 0.0f);
      }
    });
  }

 private:
  RowGroups groups_;
  int64_t in_, out_;
  const float* x_;
  const float* dy_;
  float* dkernels_;
  int threads_;
  ThreadBlocks blocks_;
};

}  // namespace

std::vector<NamedKernel> grouped_linear_kernels() {
  return {{"grouped_linear", "f32,i32,f32->f32", construct<GroupedLinearKernel>},
          {"grouped_linear_grad", "f32,i32,f32->f32", construct<GroupedLinearGradKernel>}};
}

}  // namespace shardscope
