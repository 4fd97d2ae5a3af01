#include "engine/runtime/kernels/elementwise_kernel.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"

namespace shardscope {

namespace {

struct Relu {
  [[gnu::always_inline]] float operator()(float x) const { return x < 0.0f ? 0.0f : x; }
};

struct ReluGrad {
  [[gnu::always_inline]] float operator()(float y, float dy) const { return y > 0.0f ? dy : 0.0f; }
};

}  // namespace

std::vector<NamedKernel> relu_kernels() {
  return {{"relu", "f32->f32", construct<ElementwiseKernel<Relu, float>>},
          {"relu", "bf16->bf16", construct<ElementwiseKernel<Relu, BFloat16>>},
          {"relu_grad", "f32,f32->f32", construct<ElementwiseKernel<ReluGrad, float>>},
          {"relu_grad", "bf16,bf16->bf16", construct<ElementwiseKernel<ReluGrad, BFloat16>>}};
}

std::vector<KernelCase> relu_kernel_cases(const CaseSizes& sizes) {
  return {{"relu", {}, {sizes.x()}}, {"relu_grad", {}, {sizes.x(), sizes.x()}}};
}

}  // namespace shardscope
