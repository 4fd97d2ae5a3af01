// Cross-entropy in steps between which the parts of a split vocabulary are combined: row_max (combined by max),
// softmax_terms (sums; first_at_max by max), cross_entropy_of_terms. Labels are indices in the whole vocabulary.
#include <cmath>
#include <limits>

#include "engine/base/vector_clones.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/logits_row.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

SHARDSCOPE_KERNEL_CLONES void row_maxima(const float* x, int64_t rows, int64_t columns, float* maxima) {
  for (int64_t row = 0; row < rows; ++row) maxima[row] = largest_of(x + row * columns, columns);
}

SHARDSCOPE_KERNEL_CLONES void row_terms(const float* x, float top, int64_t columns, float& sum, int32_t& first) {
  sum = sum_of_exponentials(x, top, columns);
  first = first_index_of(x, top, columns);
}

// x -> the largest element of each row of its last dimension.
class RowMaxKernel : public Kernel {
 public:
  explicit RowMaxKernel(const KernelArguments& arguments)
      : x_(arguments.inputs[0].f32()),
        maxima_(arguments.outputs[0].f32()),
        rows_(arguments.outputs[0].count()),
        columns_(arguments.inputs[0].shape.back()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int) {
      row_maxima(x_ + begin * columns_, end - begin, columns_, maxima_ + begin);
    });
  }

 private:
  const float* x_;
  float* maxima_;
  int64_t rows_, columns_;
  int threads_;
};

// (logits, labels, maxima of the rows) -> for each row, of the logits held here: the sum of exp(logit - max); the
// label's logit, zero where it lies elsewhere, NaN where it lies nowhere; minus the index of the first logit that is
// the maximum, or the smallest int32 where none is.
class SoftmaxTermsKernel : public Kernel {
 public:
  explicit SoftmaxTermsKernel(const KernelArguments& arguments)
      : logits_(arguments.inputs[0].f32()),
        labels_(arguments.inputs[1].i32()),
        maxima_(arguments.inputs[2].f32()),
        sums_(arguments.outputs[0].f32()),
        label_logits_(arguments.outputs[1].f32()),
        first_at_max_(arguments.outputs[2].i32()),
        rows_(arguments.inputs[1].count()),
        held_(arguments.inputs[0].shape.back()),
        first_(arguments.inputs[0].offset.back()),
        vocabulary_(arguments.inputs[0].global_shape.back()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const float* logits = logits_ + row * held_;
        int32_t at = 0;
        row_terms(logits, maxima_[row], held_, sums_[row], at);
        first_at_max_[row] = at < held_ ? -static_cast<int32_t>(first_ + at) : std::numeric_limits<int32_t>::min();
        label_logits_[row] = label_logit(logits, labels_[row]);
      }
    });
  }

 private:
  float label_logit(const float* logits, int64_t label) const {
    if (label < 0 || label >= vocabulary_) return std::numeric_limits<float>::quiet_NaN();
    const bool here = label >= first_ && label < first_ + held_;
    return here ? logits[label - first_] : 0.0f;
  }

  const float* logits_;
  const int32_t* labels_;
  const float* maxima_;
  float* sums_;
  float* label_logits_;
  int32_t* first_at_max_;
  int64_t rows_, held_, first_, vocabulary_;
  int threads_;
};

// (sums, label logits, first at max, maxima, labels [, weights of the rows]), combined over the vocabulary -> loss,
// correct, lse, as cross_entropy gives them.
class CrossEntropyOfTermsKernel : public Kernel {
 public:
  explicit CrossEntropyOfTermsKernel(const KernelArguments& arguments)
      : sums_(arguments.inputs[0].f32()),
        label_logits_(arguments.inputs[1].f32()),
        first_at_max_(arguments.inputs[2].i32()),
        maxima_(arguments.inputs[3].f32()),
        labels_(arguments.inputs[4].i32()),
        weights_(arguments.inputs.size() > 5 ? arguments.inputs[5].f32() : nullptr),
        loss_(arguments.outputs[0].f32()),
        correct_(arguments.outputs[1].f32()),
        lse_(arguments.outputs[2].f32()),
        rows_(arguments.outputs[2].count()),
        scale_(real(*arguments.attributes, "scale")) {}

  void run(const StepContext&) override {
    double loss = 0, correct = 0;
    for (int64_t row = 0; row < rows_; ++row) {
      lse_[row] = maxima_[row] + std::log(sums_[row]);
      const double weight = weights_ ? weights_[row] : 1.0;
      loss += weight * (static_cast<double>(lse_[row]) - label_logits_[row]);
      correct += first_at_max_[row] == -static_cast<int64_t>(labels_[row]) ? weight : 0.0;
    }
    *loss_ = static_cast<float>(loss * scale_);
    *correct_ = static_cast<float>(correct * scale_);
  }

 private:
  const float* sums_;
  const float* label_logits_;
  const int32_t* first_at_max_;
  const float* maxima_;
  const int32_t* labels_;
  const float* weights_;
  float* loss_;
  float* correct_;
  float* lse_;
  int64_t rows_;
  double scale_;
};

}  // namespace

std::vector<NamedKernel> cross_entropy_parts_kernels() {
  return {{"row_max", "f32->f32", construct<RowMaxKernel>},
          {"softmax_terms", "f32,i32,f32->f32,f32,i32", construct<SoftmaxTermsKernel>},
          {"cross_entropy_of_terms", "f32,f32,i32,f32,i32->f32,f32,f32", construct<CrossEntropyOfTermsKernel>},
          {"cross_entropy_of_terms", "f32,f32,i32,f32,i32,f32->f32,f32,f32", construct<CrossEntropyOfTermsKernel>}};
}

}  // namespace shardscope
