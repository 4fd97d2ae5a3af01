#include <cmath>
#include <limits>

#include "engine/base/vector_clones.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/vector_math.h"

namespace shardscope {

namespace {

SHARDSCOPE_KERNEL_CLONES float largest(const float* x, int64_t count) {
  float value = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : value)
  for (int64_t i = 0; i < count; ++i) value = x[i] > value ? x[i] : value;
  return value;
}

SHARDSCOPE_KERNEL_CLONES float sum_of_exponentials(const float* x, float shift, int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += vector_exp(x[i] - shift);
  return sum;
}

SHARDSCOPE_KERNEL_CLONES void softmax_grad(const float* x, float lse, float scale, int64_t count, float* dx) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) dx[i] = vector_exp(x[i] - lse) * scale;
}

// (logits, labels) -> loss, correct, lse. A label outside the vocabulary makes the loss NaN.
class CrossEntropyKernel : public Kernel {
 public:
  explicit CrossEntropyKernel(const KernelArguments& arguments)
      : logits_(arguments.inputs[0].f32()),
        labels_(arguments.inputs[1].i32()),
        loss_(arguments.outputs[0].f32()),
        correct_(arguments.outputs[1].f32()),
        lse_(arguments.outputs[2].f32()),
        rows_(arguments.inputs[1].count()),
        classes_(arguments.inputs[0].shape.back()),
        scale_(real(*arguments.attributes, "scale")),
        threads_(arguments.threads),
        hits_(static_cast<size_t>(arguments.threads)) {}

  void run(const StepContext&) override {
    hits_.assign(hits_.size(), 0);
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int thread) {
      int64_t hits = 0;
      for (int64_t row = begin; row < end; ++row) hits += is_hit(row);
      hits_[thread] = hits;
    });
    double loss = 0;
    for (int64_t row = 0; row < rows_; ++row) {
      loss += valid(row) ? static_cast<double>(lse_[row]) - logits_[row * classes_ + labels_[row]]
                         : std::numeric_limits<double>::quiet_NaN();
    }
    int64_t hits = 0;
    for (int64_t part : hits_) hits += part;
    *loss_ = static_cast<float>(loss * scale_);
    *correct_ = static_cast<float>(static_cast<double>(hits) * scale_);
  }

 private:
  bool valid(int64_t row) const { return labels_[row] >= 0 && labels_[row] < classes_; }

  // Stores the row's log-sum-exp; true where the first largest logit is the label's.
  bool is_hit(int64_t row) {
    const float* logits = logits_ + row * classes_;
    const float top = largest(logits, classes_);
    lse_[row] = top + std::log(sum_of_exponentials(logits, top, classes_));
    return valid(row) && logits[labels_[row]] == top && (labels_[row] == 0 || largest(logits, labels_[row]) < top);
  }

  const float* logits_;
  const int32_t* labels_;
  float* loss_;
  float* correct_;
  float* lse_;
  int64_t rows_, classes_;
  double scale_;
  int threads_;
  std::vector<int64_t> hits_;  // per thread
};

// (logits, labels, lse) -> (softmax - onehot) * scale.
class CrossEntropyGradKernel : public Kernel {
 public:
  explicit CrossEntropyGradKernel(const KernelArguments& arguments)
      : logits_(arguments.inputs[0].f32()),
        labels_(arguments.inputs[1].i32()),
        lse_(arguments.inputs[2].f32()),
        grad_(arguments.outputs[0].f32()),
        rows_(arguments.inputs[1].count()),
        classes_(arguments.inputs[0].shape.back()),
        scale_(static_cast<float>(real(*arguments.attributes, "scale"))),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        float* grad = grad_ + row * classes_;
        softmax_grad(logits_ + row * classes_, lse_[row], scale_, classes_, grad);
        if (labels_[row] >= 0 && labels_[row] < classes_) grad[labels_[row]] -= scale_;
      }
    });
  }

 private:
  const float* logits_;
  const int32_t* labels_;
  const float* lse_;
  float* grad_;
  int64_t rows_, classes_;
  float scale_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> cross_entropy_kernels() {
  return {{"cross_entropy", make_kernel<CrossEntropyKernel>},
          {"cross_entropy_grad", make_kernel<CrossEntropyGradKernel>}};
}

}  // namespace shardscope
