#include "engine/ops/scale.h"
#include "engine/runtime/kernels/elementwise_kernel.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"

namespace shardscope {

namespace {

struct Scale {
  explicit Scale(const KernelArguments& arguments)
      : factor(static_cast<float>(arguments.attributes->as<ScaleAttributes>().scale)) {}

  [[gnu::always_inline]] float operator()(float x) const { return x * factor; }

  float factor;
};

}  // namespace

std::vector<NamedKernel> scale_kernels() {
  return {{"scale", "f32->f32", construct<ElementwiseKernel<Scale, float>>},
          {"scale", "bf16->bf16", construct<ElementwiseKernel<Scale, BFloat16>>}};
}

std::vector<KernelCase> scale_kernel_cases(const CaseSizes& sizes) {
  return {{"scale", ScaleAttributes{0.5}, {sizes.x()}}};
}

}  // namespace shardscope
