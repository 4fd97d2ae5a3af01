#include <cmath>
#include <limits>

#include "engine/base/vector_clones.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/logits_row.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

SHARDSCOPE_KERNEL_CLONES float largest(const float* x, int64_t count) { return largest_of(x, count); }

SHARDSCOPE_KERNEL_CLONES float exponentials(const float* x, float shift, int64_t count) {
  return sum_of_exponentials(x, shift, count);
}

SHARDSCOPE_KERNEL_CLONES void softmax_grad(const float* x, float lse, float scale, int64_t count, float* dx) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) dx[i] = vector_exp(x[i] - lse) * scale;
}

// (logits, labels [, weights of the rows]) -> loss, correct, lse. A label outside the vocabulary makes the loss NaN.
class CrossEntropyKernel : public Kernel {
 public:
  explicit CrossEntropyKernel(const KernelArguments& arguments)
      : logits_(arguments.inputs[0].f32()),
        labels_(arguments.inputs[1].i32()),
        weights_(arguments.inputs.size() > 2 ? arguments.inputs[2].f32() : nullptr),
        loss_(arguments.outputs[0].f32()),
        correct_(arguments.outputs[1].f32()),
        lse_(arguments.outputs[2].f32()),
        rows_(arguments.inputs[1].count()),
        classes_(arguments.inputs[0].shape.back()),
        scale_(real(*arguments.attributes, "scale")),
        threads_(arguments.threads),
        hits_(static_cast<size_t>(rows_)) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) hits_[row] = is_hit(row);
    });
    double loss = 0, correct = 0;
    for (int64_t row = 0; row < rows_; ++row) {
      const double weight = weights_ ? weights_[row] : 1.0;
      loss += weight * (valid(row) ? static_cast<double>(lse_[row]) - logits_[row * classes_ + labels_[row]]
                                   : std::numeric_limits<double>::quiet_NaN());
      correct += hits_[row] ? weight : 0.0;
    }
    *loss_ = static_cast<float>(loss * scale_);
    *correct_ = static_cast<float>(correct * scale_);
  }

 private:
  bool valid(int64_t row) const { return labels_[row] >= 0 && labels_[row] < classes_; }

  // Stores the row's log-sum-exp; true where the first largest logit is the label's.
  bool is_hit(int64_t row) {
    const float* logits = logits_ + row * classes_;
    const float top = largest(logits, classes_);
    lse_[row] = top + std::log(exponentials(logits, top, classes_));
    return valid(row) && logits[labels_[row]] == top && (labels_[row] == 0 || largest(logits, labels_[row]) < top);
  }

  const float* logits_;
  const int32_t* labels_;
  const float* weights_;
  float* loss_;
  float* correct_;
  float* lse_;
  int64_t rows_, classes_;
  double scale_;
  int threads_;
  std::vector<uint8_t> hits_;  // per row
};

// (logits, labels, lse [, weights of the rows] [, cotangent of the loss, a scalar]) -> (softmax - onehot) scale weight
// cotangent. The logits may be a part of the vocabulary; labels are those of the whole.
class CrossEntropyGradKernel : public Kernel {
 public:
  explicit CrossEntropyGradKernel(const KernelArguments& arguments)
      : logits_(arguments.inputs[0].f32()),
        labels_(arguments.inputs[1].i32()),
        lse_(arguments.inputs[2].f32()),
        grad_(arguments.outputs[0].f32()),
        rows_(arguments.inputs[1].count()),
        classes_(arguments.inputs[0].shape.back()),
        first_(arguments.inputs[0].offset.back()),
        scale_(static_cast<float>(real(*arguments.attributes, "scale"))),
        threads_(arguments.threads) {
    for (size_t i = 3; i < arguments.inputs.size(); ++i) {
      (arguments.inputs[i].shape.empty() ? cotangent_ : weights_) = arguments.inputs[i].f32();
    }
  }

  void run(const StepContext&) override {
    const float outer = cotangent_ ? scale_ * *cotangent_ : scale_;
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const float scale = weights_ ? outer * weights_[row] : outer;
        float* grad = grad_ + row * classes_;
        softmax_grad(logits_ + row * classes_, lse_[row], scale, classes_, grad);
        const int64_t label = labels_[row] - first_;
        if (label >= 0 && label < classes_) grad[label] -= scale;
      }
    });
  }

 private:
  const float* logits_;
  const int32_t* labels_;
  const float* lse_;
  const float* weights_ = nullptr;
  const float* cotangent_ = nullptr;
  float* grad_;
  int64_t rows_, classes_, first_;
  float scale_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> cross_entropy_kernels() {
  return {{"cross_entropy", "f32,i32->f32,f32,f32", construct<CrossEntropyKernel>},
          {"cross_entropy", "f32,i32,f32->f32,f32,f32", construct<CrossEntropyKernel>},
          {"cross_entropy_grad", "f32,i32,f32->f32", construct<CrossEntropyGradKernel>},
          {"cross_entropy_grad", "f32,i32,f32,f32->f32", construct<CrossEntropyGradKernel>},
          {"cross_entropy_grad", "f32,i32,f32,f32,f32->f32", construct<CrossEntropyGradKernel>}};
}

}  // namespace shardscope
