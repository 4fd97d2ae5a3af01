#include <algorithm>
#include <cmath>

#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

void probabilities_of(const float* logits, int64_t experts, float* probabilities) {
  const float top = *std::max_element(logits, logits + experts);
  float sum = 0;
  for (int64_t e = 0; e < experts; ++e) sum += probabilities[e] = std::exp(logits[e] - top);
  for (int64_t e = 0; e < experts; ++e) probabilities[e] /= sum;
}

// logits -> sums. One token after the other, in double, so that the sums do not depend on threads.
class ExpertProbabilityKernel : public Kernel {
 public:
  explicit ExpertProbabilityKernel(const KernelArguments& arguments)
      : logits_(arguments.inputs[0].f32()),
        sums_(arguments.outputs[0].f32()),
        experts_(arguments.outputs[0].count()),
        rows_(experts_ == 0 ? 0 : arguments.inputs[0].count() / experts_),
        probabilities_(static_cast<size_t>(experts_)),
        added_(static_cast<size_t>(experts_)) {}

  void run(const StepContext&) override {
    std::fill(added_.begin(), added_.end(), 0.0);
    for (int64_t row = 0; row < rows_; ++row) {
      probabilities_of(logits_ + row * experts_, experts_, probabilities_.data());
      for (size_t e = 0; e < added_.size(); ++e) added_[e] += static_cast<double>(probabilities_[e]);
    }
    for (size_t e = 0; e < added_.size(); ++e) sums_[e] = static_cast<float>(added_[e]);
  }

 private:
  const float* logits_;
  float* sums_;
  int64_t experts_, rows_;
  std::vector<float> probabilities_;
  std::vector<double> added_;
};

// (logits, d sums) -> d logits = p (d - sum of p d).
class ExpertProbabilityGradKernel : public Kernel {
 public:
  explicit ExpertProbabilityGradKernel(const KernelArguments& arguments)
      : logits_(arguments.inputs[0].f32()),
        dsums_(arguments.inputs[1].f32()),
        dlogits_(arguments.outputs[0].f32()),
        experts_(arguments.inputs[1].count()),
        rows_(experts_ == 0 ? 0 : arguments.inputs[0].count() / experts_),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        float* dlogits = dlogits_ + row * experts_;
        probabilities_of(logits_ + row * experts_, experts_, dlogits);
        float flow = 0;
        for (int64_t e = 0; e < experts_; ++e) flow += dlogits[e] * dsums_[e];
        for (int64_t e = 0; e < experts_; ++e) dlogits[e] *= dsums_[e] - flow;
      }
    });
  }

 private:
  const float *logits_, *dsums_;
  float* dlogits_;
  int64_t experts_, rows_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> expert_probability_kernels() {
  return {{"expert_probability", "f32->f32", construct<ExpertProbabilityKernel>},
          {"expert_probability_grad", "f32,f32->f32", construct<ExpertProbabilityGradKernel>}};
}

std::vector<KernelCase> expert_probability_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType logits = sizes.sequences({CaseSizes::experts});
  return {{"expert_probability", {}, {logits}}, {"expert_probability_grad", {}, {logits, {{CaseSizes::experts}}}}};
}

}  // namespace shardscope
