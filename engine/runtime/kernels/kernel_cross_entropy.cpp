#include <cmath>
#include <limits>

#include "engine/base/vector_versions.h"
#include "engine/ops/scale.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/logits_row.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/vector_math.h"

namespace shardscope {

namespace {

constexpr auto row_maxima = vector_versions([](const float* x, int64_t rows, int64_t columns, float* maxima) {
  for (int64_t row = 0; row < rows; ++row) maxima[row] = largest_of(x + row * columns, columns);
});

constexpr auto row_terms = vector_versions([](const float* x, float top, int64_t columns, float& sum, int32_t& first) {
  sum = sum_of_exponentials(x, top, columns);
  first = first_index_of(x, top, columns);
});

constexpr auto scaled_exponentials =
    vector_versions([](const float* x, float shift, float scale, int64_t count, float* y) {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) y[i] = vector_exp(x[i] - shift) * scale;
    });

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

// The part of the vocabulary that is held here.
struct Vocabulary {
  int64_t first, size, whole;

  explicit Vocabulary(const TensorView& logits)
      : first(logits.offset.back()), size(logits.shape.back()), whole(logits.global_shape.back()) {}
  bool holds(int32_t label) const { return label >= first && label < first + size; }
  bool is_label(int32_t label) const { return label >= 0 && label < whole; }
};

// logits -> largest of each row.
class RowMaxKernel : public Kernel {
 public:
  explicit RowMaxKernel(const KernelArguments& arguments)
      : logits_(arguments.inputs[0].f32()),
        top_(arguments.outputs[0].f32()),
        rows_(arguments.outputs[0].count()),
        columns_(arguments.inputs[0].shape.back()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int) {
      row_maxima(logits_ + begin * columns_, end - begin, columns_, top_ + begin);
    });
  }

 private:
  const float* logits_;
  float* top_;
  int64_t rows_, columns_;
  int threads_;
};

// (logits, labels, top) -> (exp_sum, label_logit, first).
class TermsKernel : public Kernel {
 public:
  explicit TermsKernel(const KernelArguments& arguments)
      : logits_(arguments.inputs[0].f32()),
        labels_(arguments.inputs[1].i32()),
        top_(arguments.inputs[2].f32()),
        exp_sum_(arguments.outputs[0].f32()),
        label_logit_(arguments.outputs[1].f32()),
        first_(arguments.outputs[2].i32()),
        vocabulary_(arguments.inputs[0]),
        rows_(arguments.inputs[1].count()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) fill(row);
    });
  }

 private:
  void fill(int64_t row) {
    const float* logits = logits_ + row * vocabulary_.size;
    const int32_t label = labels_[row];
    int32_t first = 0;
    row_terms(logits, top_[row], vocabulary_.size, exp_sum_[row], first);
    label_logit_[row] = !vocabulary_.is_label(label) ? not_a_number
                        : vocabulary_.holds(label)   ? logits[label - vocabulary_.first]
                                                     : 0.0f;
    first_[row] = first == vocabulary_.size ? std::numeric_limits<int32_t>::min()
                                            : -static_cast<int32_t>(vocabulary_.first + first);
  }

  const float* logits_;
  const int32_t* labels_;
  const float* top_;
  float* exp_sum_;
  float* label_logit_;
  int32_t* first_;
  Vocabulary vocabulary_;
  int64_t rows_;
  int threads_;
};

// (logits, labels, d exp_sum, d label_logit, top) -> d logits.
class TermsGradKernel : public Kernel {
 public:
  explicit TermsGradKernel(const KernelArguments& arguments)
      : logits_(arguments.inputs[0].f32()),
        labels_(arguments.inputs[1].i32()),
        exp_sum_grad_(arguments.inputs[2].f32()),
        label_logit_grad_(arguments.inputs[3].f32()),
        top_(arguments.inputs[4].f32()),
        grad_(arguments.outputs[0].f32()),
        vocabulary_(arguments.inputs[0]),
        rows_(arguments.inputs[1].count()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        float* grad = grad_ + row * vocabulary_.size;
        scaled_exponentials(logits_ + row * vocabulary_.size, top_[row], exp_sum_grad_[row], vocabulary_.size, grad);
        if (vocabulary_.holds(labels_[row])) grad[labels_[row] - vocabulary_.first] += label_logit_grad_[row];
      }
    });
  }

 private:
  const float* logits_;
  const int32_t* labels_;
  const float* exp_sum_grad_;
  const float* label_logit_grad_;
  const float* top_;
  float* grad_;
  Vocabulary vocabulary_;
  int64_t rows_;
  int threads_;
};

// (top, exp_sum, label_logit, first, labels [, weights]) -> (loss, accuracy).
class CrossEntropyKernel : public Kernel {
 public:
  explicit CrossEntropyKernel(const KernelArguments& arguments)
      : top_(arguments.inputs[0].f32()),
        exp_sum_(arguments.inputs[1].f32()),
        label_logit_(arguments.inputs[2].f32()),
        first_(arguments.inputs[3].i32()),
        labels_(arguments.inputs[4].i32()),
        weights_(arguments.inputs.size() > 5 ? arguments.inputs[5].f32() : nullptr),
        loss_(arguments.outputs[0].f32()),
        accuracy_(arguments.outputs[1].f32()),
        rows_(arguments.inputs[4].count()),
        scale_(arguments.attributes->as<ScaleAttributes>().scale) {}

  void run(const StepContext&) override {
    double loss = 0, hits = 0;
    for (int64_t row = 0; row < rows_; ++row) {
      const double weight = weights_ ? weights_[row] : 1.0;
      loss += weight * (static_cast<double>(top_[row] + std::log(exp_sum_[row])) - label_logit_[row]);
      if (first_[row] == -labels_[row]) hits += weight;
    }
    *loss_ = static_cast<float>(loss * scale_);
    *accuracy_ = static_cast<float>(hits * scale_);
  }

 private:
  const float* top_;
  const float* exp_sum_;
  const float* label_logit_;
  const int32_t* first_;
  const int32_t* labels_;
  const float* weights_;
  float* loss_;
  float* accuracy_;
  int64_t rows_;
  double scale_;
};

// (exp_sum, d loss [, weights]) -> (d exp_sum, d label_logit).
class CrossEntropyGradKernel : public Kernel {
 public:
  explicit CrossEntropyGradKernel(const KernelArguments& arguments)
      : exp_sum_(arguments.inputs[0].f32()),
        loss_grad_(arguments.inputs[1].f32()),
        weights_(arguments.inputs.size() > 2 ? arguments.inputs[2].f32() : nullptr),
        exp_sum_grad_(arguments.outputs[0].f32()),
        label_logit_grad_(arguments.outputs[1].f32()),
        rows_(arguments.inputs[0].count()),
        scale_(static_cast<float>(arguments.attributes->as<ScaleAttributes>().scale)) {}

  void run(const StepContext&) override {
    const float scale = *loss_grad_ * scale_;
    for (int64_t row = 0; row < rows_; ++row) {
      const float share = weights_ ? weights_[row] * scale : scale;
      exp_sum_grad_[row] = share / exp_sum_[row];
      label_logit_grad_[row] = -share;
    }
  }

 private:
  const float* exp_sum_;
  const float* loss_grad_;
  const float* weights_;
  float* exp_sum_grad_;
  float* label_logit_grad_;
  int64_t rows_;
  float scale_;
};

}  // namespace

std::vector<NamedKernel> cross_entropy_kernels() {
  return {{"row_max", "f32->f32", construct<RowMaxKernel>},
          {"cross_entropy_terms", "f32,i32,f32->f32,f32,i32", construct<TermsKernel>},
          {"cross_entropy_terms_grad", "f32,i32,f32,f32,f32->f32", construct<TermsGradKernel>},
          {"cross_entropy", "f32,f32,f32,i32,i32->f32,f32", construct<CrossEntropyKernel>},
          {"cross_entropy", "f32,f32,f32,i32,i32,f32->f32,f32", construct<CrossEntropyKernel>},
          {"cross_entropy_grad", "f32,f32->f32,f32", construct<CrossEntropyGradKernel>},
          {"cross_entropy_grad", "f32,f32,f32->f32,f32", construct<CrossEntropyGradKernel>}};
}

std::vector<KernelCase> cross_entropy_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType x = sizes.x(), r = sizes.row(), labels = sizes.labels();
  const ScaleAttributes half{0.5};
  return {{"row_max", {}, {x}},
          {"cross_entropy_terms", {}, {x, labels, r}},
          {"cross_entropy_terms_grad", {}, {x, labels, r, r, r}},
          {"cross_entropy", half, {r, r, r, labels, labels}},
          {"cross_entropy_grad", half, {r, sizes.scalar()}}};
}

}  // namespace shardscope
