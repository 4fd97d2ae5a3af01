#include <algorithm>

#include "engine/base/vector_versions.h"
#include "engine/ops/equation.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/storage.h"

namespace shardscope {

namespace {

constexpr auto add_row = vector_versions([]<class T>(const T* a, const T* b, T* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) store(load(a[i]) + load(b[i]), y[i]);
});

constexpr auto add_constant = vector_versions([]<class T>(const T* a, float b, T* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) store(load(a[i]) + b, y[i]);
});

// Neighbouring dimensions that the second operand either has or lacks, as one.
struct Group {
  int64_t size;
  int64_t stride;  // of the second operand; 0 where it lacks them
};

std::vector<Group> group_dimensions(const KernelArguments& arguments) {
  const Equation equation = arguments.attributes->as<EquationAttributes>().equation;
  const std::string &a = equation.operands[0], &b = equation.operands[1];
  std::vector<Group> groups;
  int64_t stride = 1;
  size_t matched = b.size();
  for (size_t d = a.size(); d-- > 0;) {
    const int64_t size = arguments.inputs[0].shape[d];
    const bool present = matched > 0 && b[matched - 1] == a[d];
    if (present) --matched;
    if (!groups.empty() && (groups.back().stride != 0) == present) {
      groups.back().size *= size;
    } else {
      groups.push_back({size, present ? stride : 0});
    }
    if (present) stride *= size;
  }
  if (groups.empty()) groups.push_back({1, 1});
  return groups;  // innermost first
}

template <class T>
class AddKernel : public Kernel {
 public:
  explicit AddKernel(const KernelArguments& arguments)
      : groups_(group_dimensions(arguments)),
        a_(arguments.inputs[0].template as<T>()),
        b_(arguments.inputs[1].template as<T>()),
        y_(arguments.outputs[0].template as<T>()),
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, count_, 1024, [&](int64_t begin, int64_t end, int) { add(begin, end); });
  }

 private:
  void add(int64_t begin, int64_t end) {
    const Group inner = groups_[0];
    while (begin < end) {
      const int64_t column = begin % inner.size;
      const int64_t count = std::min(end - begin, inner.size - column);
      const T* b = b_ + row_offset(begin / inner.size);
      if (inner.stride != 0) {
        add_row(a_ + begin, b + column, y_ + begin, count);
      } else {
        add_constant(a_ + begin, load(*b), y_ + begin, count);
      }
      begin += count;
    }
  }

  int64_t row_offset(int64_t row) const {
    int64_t offset = 0;
    for (size_t g = 1; g < groups_.size(); ++g) {
      offset += row % groups_[g].size * groups_[g].stride;
      row /= groups_[g].size;
    }
    return offset;
  }

  std::vector<Group> groups_;
  const T* a_;
  const T* b_;
  T* y_;
  int64_t count_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> add_kernels() {
  return {{"add", "f32,f32->f32", construct<AddKernel<float>>},
          {"add", "bf16,bf16->bf16", construct<AddKernel<BFloat16>>}};
}

std::vector<KernelCase> add_kernel_cases(const CaseSizes& sizes) {
  return {{"add", EquationAttributes{"re,re->re"}, {sizes.x(), sizes.x()}},
          {"add", EquationAttributes{"re,e->re"}, {sizes.x(), sizes.feature()}}};
}

}  // namespace shardscope
