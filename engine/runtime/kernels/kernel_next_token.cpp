#include <algorithm>

#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"

namespace shardscope {

namespace {

// tokens (b, s) -> labels, weights (b, s).
void next_token(const KernelArguments& of, const StepContext&) {
  const int32_t* tokens = of.inputs[0].i32();
  int32_t* labels = of.outputs[0].i32();
  float* weights = of.outputs[1].f32();
  const int64_t length = of.inputs[0].shape[1];
  const auto weight = static_cast<float>(length) / (static_cast<float>(length) - 1);
  for (int64_t row = 0; row < of.inputs[0].shape[0]; ++row) {
    const int64_t first = row * length, last = first + length - 1;
    std::copy(tokens + first + 1, tokens + last + 1, labels + first);
    std::fill(weights + first, weights + last, weight);
    labels[last] = 0;
    weights[last] = 0;
  }
}

}  // namespace

std::vector<NamedKernel> next_token_kernels() {
  return {{"next_token", "i32->i32,f32", construct_function<next_token>}};
}

std::vector<KernelCase> next_token_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  return {{"next_token", {}, {sizes.tokens()}}};
}

}  // namespace shardscope
