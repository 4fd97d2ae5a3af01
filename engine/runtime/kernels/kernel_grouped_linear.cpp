#include <numeric>

#include "engine/ops/grouped_linear.h"
#include "engine/runtime/kernels/expert_products.h"

namespace shardscope {

namespace {

// The groups of rows (q, p, c, ...) of the part held here, by counts (q, p, n).
class RowGroups {
 public:
  RowGroups(const KernelArguments& arguments, const TensorView&)
      : counts_(arguments.inputs[1].i32()), rows_(arguments.inputs[0].shape[2]) {
    const Shape& shape = arguments.inputs[1].shape;
    q_ = shape[0], p_ = shape[1], n_ = shape[2];
  }

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
  int64_t rows_, q_ = 0, p_ = 0, n_ = 0;
};

}  // namespace

std::vector<NamedKernel> grouped_linear_kernels() {
  return expert_kernels<RowGroups, GroupedLinearAttributes>("grouped_linear", "grouped_linear_grad");
}

}  // namespace shardscope
