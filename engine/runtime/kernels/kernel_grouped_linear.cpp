#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/ops/grouped_linear.h"
#include "engine/runtime/kernels/expert_products.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

// The groups of rows (q, p, c, ...) of the part held here, by counts (q, p, n).
class RowGroups {
 public:
  RowGroups(const TensorView& counts, int64_t rows)
      : counts_(counts.i32()), q_(counts.shape[0]), p_(counts.shape[1]), n_(counts.shape[2]), rows_(rows) {}

  int64_t experts() const { return p_ * n_; }
  int64_t rows() const { return q_ * p_ * rows_; }
  // Writes the rows of an expert to `list`, ascending, and returns how many there are.
  int64_t find(int64_t expert, int32_t* list) const {
    const int64_t p = expert / n_, in_block = expert % n_;
    int64_t count = 0;
    for (int64_t q = 0; q < q_; ++q) {
      const int32_t* counts = counts_ + (q * p_ + p) * n_;
      const int64_t first = std::accumulate(counts, counts + in_block, (q * p_ + p) * rows_);
      std::iota(list + count, list + count + counts[in_block], static_cast<int32_t>(first));
      count += counts[in_block];
    }
    return count;
  }
  // Calls visit(first row, count) for what no group has of each (q, p).
  template <class Visit>
  void for_each_rest(Visit visit) const {
    for (int64_t block = 0; block < q_ * p_; ++block) {
      const int64_t used = std::accumulate(counts_ + block * n_, counts_ + (block + 1) * n_, int64_t{0});
      visit(block * rows_ + used, rows_ - used);
    }
  }

 private:
  const int32_t* counts_;
  int64_t q_, p_, n_, rows_;
};

// (rows, counts, kernels) -> rows.
class GroupedLinearKernel : public Kernel {
 public:
  explicit GroupedLinearKernel(const KernelArguments& arguments)
      : transposed_(arguments.attributes->as<GroupedLinearAttributes>().transposed),
        groups_(arguments.inputs[1], arguments.inputs[0].shape[2]),
        x_(arguments.inputs[0], groups_.rows()),
        y_(arguments.outputs[0], groups_.rows()),
        kernels_(arguments.inputs[2]),
        products_(arguments, groups_.rows(), kernels_.in, kernels_.out) {}

  void run(const StepContext&) override {
    groups_.for_each_rest([&](int64_t first, int64_t count) {
      if (count > 0) std::memset(y_.row(first), 0, static_cast<size_t>(count * y_.bytes));
    });
    products_.for_each_expert(groups_, [&](int64_t expert, int64_t count, const ExpertProducts& products) {
      products.multiply(count, x_, kernels_.at(expert), transposed_, y_);
    });
  }

 private:
  bool transposed_;
  RowGroups groups_;
  SharedRows x_, y_;
  ExpertKernels kernels_;
  ThreadProducts products_;
};

// (x, counts, dy) -> d kernels.
class GroupedLinearGradKernel : public Kernel {
 public:
  explicit GroupedLinearGradKernel(const KernelArguments& arguments)
      : groups_(arguments.inputs[1], arguments.inputs[0].shape[2]),
        x_(arguments.inputs[0], groups_.rows()),
        dy_(arguments.inputs[2], groups_.rows()),
        dkernels_(arguments.outputs[0]),
        products_(arguments, groups_.rows(), dkernels_.in, dkernels_.out) {}

  void run(const StepContext&) override {
    products_.for_each_expert(groups_, [&](int64_t expert, int64_t count, const ExpertProducts& products) {
      products.sum(count, x_, dy_, dkernels_.at(expert));
    });
  }

 private:
  RowGroups groups_;
  SharedRows x_, dy_;
  ExpertKernels dkernels_;
  ThreadProducts products_;
};

}  // namespace

std::vector<NamedKernel> grouped_linear_kernels() {
  constexpr auto product = construct<GroupedLinearKernel>, gradient = construct<GroupedLinearGradKernel>;
  return {{"grouped_linear", "f32,i32,f32->f32", product},
          {"grouped_linear", "bf16,i32,bf16->bf16", product},
          {"grouped_linear", "bf16,i32,bf16->f32", product},
          {"grouped_linear_grad", "f32,i32,f32->f32", gradient},
          {"grouped_linear_grad", "bf16,i32,bf16->bf16", gradient},
          {"grouped_linear_grad", "bf16,i32,bf16->f32", gradient}};
}

}  // namespace shardscope
