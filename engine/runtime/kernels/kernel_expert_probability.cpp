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
void expert_probability(const KernelArguments& of, const StepContext&) {
  const float* logits = of.inputs[0].f32();
  const int64_t experts = of.outputs[0].count(), rows = experts == 0 ? 0 : of.inputs[0].count() / experts;
  std::vector<float> probabilities(static_cast<size_t>(experts));
  std::vector<double> added(probabilities.size());
  for (int64_t row = 0; row < rows; ++row) {
    probabilities_of(logits + row * experts, experts, probabilities.data());
    for (size_t e = 0; e < added.size(); ++e) added[e] += static_cast<double>(probabilities[e]);
  }
  std::ranges::transform(added, of.outputs[0].f32(), [](double sum) { return static_cast<float>(sum); });
}

// (logits, d sums) -> d logits = p (d - sum of p d).
void expert_probability_grad(const KernelArguments& of, const StepContext&) {
  const float *logits = of.inputs[0].f32(), *dsums = of.inputs[1].f32();
  float* all_dlogits = of.outputs[0].f32();
  const int64_t experts = of.inputs[1].count(), rows = experts == 0 ? 0 : of.inputs[0].count() / experts;
  parallel_for(of.threads, rows, 16, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      float* dlogits = all_dlogits + row * experts;
      probabilities_of(logits + row * experts, experts, dlogits);
      float flow = 0;
      for (int64_t e = 0; e < experts; ++e) flow += dlogits[e] * dsums[e];
      for (int64_t e = 0; e < experts; ++e) dlogits[e] *= dsums[e] - flow;
    }
  });
}

}  // namespace

std::vector<NamedKernel> expert_probability_kernels() {
  return {{"expert_probability", "f32->f32", construct_function<expert_probability>},
          {"expert_probability_grad", "f32,f32->f32", construct_function<expert_probability_grad>}};
}

std::vector<KernelCase> expert_probability_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType logits = sizes.sequences({CaseSizes::experts});
  return {{"expert_probability", {}, {logits}}, {"expert_probability_grad", {}, {logits, {{CaseSizes::experts}}}}};
}

}  // namespace shardscope
