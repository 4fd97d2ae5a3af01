#include <algorithm>
#include <cstddef>

#include "engine/base/error.h"
#include "engine/base/vector_versions.h"
#include "engine/ops/equation.h"
#include "engine/runtime/kernels/column_sums.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/storage.h"

namespace shardscope {

namespace {

// Adds the columns of rows [first, last), `stride` elements apart, to `sums`.
constexpr auto add_rows =
    vector_versions([]<class T>(const T* x, int64_t stride, int64_t first, int64_t last, int64_t columns, float* sums) {
      int64_t row = first;
      for (; row + 4 <= last; row += 4) {
        const T* a = x + row * stride;
        const T *b = a + stride, *d = b + stride, *e = d + stride;
#pragma omp simd
        for (int64_t c = 0; c < columns; ++c) sums[c] += (load(a[c]) + load(b[c])) + (load(d[c]) + load(e[c]));
      }
      for (; row < last; ++row) {
        const T* a = x + row * stride;
#pragma omp simd
        for (int64_t c = 0; c < columns; ++c) sums[c] += load(a[c]);
      }
    });

constexpr auto sum_rows = vector_versions([]<class T, class R>(const T* x, int64_t rows, int64_t columns, R* y) {
  for (int64_t row = 0; row < rows; ++row, x += columns) {
    double total = 0;
    for (int64_t first = 0; first < columns; first += 1024) {
      const int64_t last = std::min(columns, first + 1024);
      float block = 0;
#pragma omp simd reduction(+ : block)
      for (int64_t c = first; c < last; ++c) block += load(x[c]);
      total += block;
    }
    store(static_cast<float>(total), y[row]);
  }
});

struct Dimension {
  int64_t size;
  int64_t stride;  // of the operand
};

// Sums of T, stored as R.
template <class T, class R>
class ReduceSumKernel : public Kernel {
 public:
  explicit ReduceSumKernel(const KernelArguments& arguments)
      : x_(arguments.inputs[0].template as<T>()),
        y_(arguments.outputs[0].template as<R>()),
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads),
        workspace_(arguments.workspace) {
    const Equation& equation = arguments.attributes->as<EquationAttributes>().equation;
    const std::string& labels = equation.operands[0];
    const Shape& shape = arguments.inputs[0].shape;
    std::vector<int64_t> strides(labels.size(), 1);
    for (size_t d = labels.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
    std::string kept_labels;
    for (size_t d = 0; d < labels.size(); ++d) {
      if (equation.result.find(labels[d]) == std::string::npos) {
        reduced_.push_back({shape[d], strides[d]});
        if (phase_ == Phase::after) simple_ = false;
        phase_ = Phase::inside;
        rows_ *= shape[d];
      } else {
        kept_labels += labels[d];
        if (phase_ == Phase::inside) phase_ = Phase::after;
        (phase_ == Phase::before ? outer_ : inner_) *= shape[d];
      }
    }
    for (char label : equation.result) {
      const size_t d = labels.find(label);
      kept_.push_back({shape[d], strides[d]});
    }
    simple_ = simple_ && kept_labels == equation.result;
  }

  // The dimensions are (outer kept, summed, inner kept) where that is possible, else any order by strides.
  void run(const StepContext&) override {
    if (!simple_) {
      parallel_for(threads_, count_, 16, [&](int64_t begin, int64_t end, int) { sum_strided(begin, end); });
    } else if (inner_ == 1) {
      parallel_for(threads_, outer_, 16, [&](int64_t begin, int64_t end, int) {
        sum_rows(x_ + begin * rows_, end - begin, rows_, y_ + begin);
      });
    } else {
      const int threads = outer_ == 1 ? threads_ : 1;
      parallel_for(outer_ == 1 ? 1 : threads_, outer_, 1, [&](int64_t begin, int64_t end, int thread) {
        for (int64_t i = begin; i < end; ++i) sum_columns(i, threads, thread);
      });
    }
  }

 private:
  enum class Phase { before, inside, after };

  static int64_t offset(const std::vector<Dimension>& dimensions, int64_t index) {
    int64_t at = 0;
    for (size_t d = dimensions.size(); d-- > 0;) {
      at += index % dimensions[d].size * dimensions[d].stride;
      index /= dimensions[d].size;
    }
    return at;
  }

  void sum_columns(int64_t outer, int threads, int lane) {
    const T* x = x_ + outer * rows_ * inner_;
    R* y = y_ + outer * inner_;
    void* totals = static_cast<std::byte*>(workspace_) + lane * column_sums_workspace_bytes(rows_, inner_, 1);
    ColumnSums<1>(rows_, inner_, threads, totals)
        .run([&](int64_t first, int64_t last, int64_t column, int64_t width,
                 ColumnSums<1>::Block& part) { add_rows(x + column, inner_, first, last, width, part[0]); },
             [&](int, int64_t column, float total) { store(total, y[column]); });
  }

  void sum_strided(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* x = x_ + offset(kept_, i);
      double total = 0;
      for (int64_t r = 0; r < rows_; ++r) total += load(x[offset(reduced_, r)]);
      store(static_cast<float>(total), y_[i]);
    }
  }

  const T* x_;
  R* y_;
  int64_t count_;
  int threads_;
  void* workspace_;
  Phase phase_ = Phase::before;
  bool simple_ = true;
  int64_t outer_ = 1, rows_ = 1, inner_ = 1;
  std::vector<Dimension> kept_, reduced_;
};

}  // namespace

std::vector<NamedKernel> reduce_sum_kernels() {
  return {{"reduce_sum", "f32->f32", construct<ReduceSumKernel<float, float>>},
          {"reduce_sum", "bf16->bf16", construct<ReduceSumKernel<BFloat16, BFloat16>>},
          {"reduce_sum", "bf16->f32", construct<ReduceSumKernel<BFloat16, float>>}};
}

std::vector<KernelCase> reduce_sum_kernel_cases(const CaseSizes& sizes) {
  return {{"reduce_sum", EquationAttributes{"re->e"}, {sizes.x()}}};
}

}  // namespace shardscope
