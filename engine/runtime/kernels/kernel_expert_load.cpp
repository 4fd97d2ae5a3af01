#include <algorithm>
#include <span>

#include "engine/ops/expert_load.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"

namespace shardscope {

namespace {

void expert_load(const KernelArguments& of, const StepContext&) {
  const std::span chosen(of.inputs[0].i32(), static_cast<size_t>(of.inputs[0].count()));
  float* load = of.outputs[0].f32();
  std::fill_n(load, of.outputs[0].count(), 0.0f);
  for (const int32_t expert : chosen) ++load[expert];
}

}  // namespace

std::vector<NamedKernel> expert_load_kernels() {
  return {{"expert_load", "i32->f32", construct_function<expert_load>}};
}

std::vector<KernelCase> expert_load_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  return {{"expert_load", ExpertLoadAttributes{CaseSizes::experts}, {sizes.tokens({2})}}};
}

}  // namespace shardscope
