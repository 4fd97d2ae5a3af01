#include "engine/runtime/kernels/elementwise_kernel.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/vector_math.h"

namespace shardscope {

namespace {

// 1/2 (1 + tanh(u)) = sigmoid(2 u), with 2 u = x (slope + curve x^2).
constexpr float slope = 1.5957691216057308f;  // 2 sqrt(2 / pi)
constexpr float curve = 0.044715f * slope;

struct Gelu {
  [[gnu::always_inline]] float operator()(float x) const { return x * vector_sigmoid(x * (slope + curve * x * x)); }
};

struct GeluGrad {
  [[gnu::always_inline]] float operator()(float x, float dy) const {
    const float square = x * x;
    const float fall = vector_exp(-x * (slope + curve * square));
    const float gate = 1.0f / (1.0f + fall);
    const float bend = gate * (fall * gate);
    // Where the gate is shut, large numbers times zero must be zero.
    const float tail = bend > 0.0f ? bend * x * (slope + 3.0f * curve * square) : 0.0f;
    return dy * (gate + tail);
  }
};

}  // namespace

std::vector<NamedKernel> gelu_kernels() {
  return {{"gelu", "f32->f32", construct<ElementwiseKernel<Gelu, float>>},
          {"gelu", "bf16->bf16", construct<ElementwiseKernel<Gelu, BFloat16>>},
          {"gelu_grad", "f32,f32->f32", construct<ElementwiseKernel<GeluGrad, float>>},
          {"gelu_grad", "bf16,bf16->bf16", construct<ElementwiseKernel<GeluGrad, BFloat16>>}};
}

std::vector<KernelCase> gelu_kernel_cases(const CaseSizes& sizes) {
  return {{"gelu", {}, {sizes.x()}}, {"gelu_grad", {}, {sizes.x(), sizes.x()}}};
}

}  // namespace shardscope
