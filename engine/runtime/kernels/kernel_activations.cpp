#include <cmath>

#include "engine/ops/clip.h"
#include "engine/ops/soft_cap.h"
#include "engine/runtime/kernels/elementwise_kernel.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/vector_math.h"

namespace shardscope {

namespace {

struct Silu {
  [[gnu::always_inline]] float operator()(float x) const { return x * vector_sigmoid(x); }
};

struct SiluGrad {
  [[gnu::always_inline]] float operator()(float x, float dy) const {
    const float fall = vector_exp(-x);
    const float gate = 1.0f / (1.0f + fall);
    const float bend = gate * (fall * gate);
    // Where the gate is shut, large numbers times zero must be zero.
    return dy * (gate + (bend > 0.0f ? bend * x : 0.0f));
  }
};

constexpr float root_half = 0.70710678118654752f;

struct GeluExact {
  [[gnu::always_inline]] float operator()(float x) const { return 0.5f * x * (1.0f + std::erf(x * root_half)); }
};

struct GeluExactGrad {
  [[gnu::always_inline]] float operator()(float x, float dy) const {
    constexpr float inverse_root = 0.39894228040143268f;  // 1 / sqrt(2 pi)
    const float density = inverse_root * vector_exp(-0.5f * x * x);
    return dy * (0.5f * (1.0f + std::erf(x * root_half)) + (density > 0.0f ? density * x : 0.0f));
  }
};

struct Multiply {
  [[gnu::always_inline]] float operator()(float a, float b) const { return a * b; }
};

struct SoftCap {
  explicit SoftCap(const KernelArguments& arguments)
      : cap(static_cast<float>(arguments.attributes->as<SoftCapAttributes>().cap)) {}
  [[gnu::always_inline]] float operator()(float x) const { return cap * vector_tanh(x / cap); }
  float cap;
};

struct SoftCapGrad {
  explicit SoftCapGrad(const KernelArguments& arguments)
      : cap(static_cast<float>(arguments.attributes->as<SoftCapAttributes>().cap)) {}
  [[gnu::always_inline]] float operator()(float y, float dy) const {
    const float tanh = y / cap;
    return dy * (1.0f - tanh * tanh);
  }
  float cap;
};

struct Bounds {
  explicit Bounds(const KernelArguments& arguments) {
    const auto& bounds = arguments.attributes->as<ClipBoundsAttributes>();
    minimum = static_cast<float>(bounds.minimum);
    maximum = static_cast<float>(bounds.maximum);
  }
  float minimum, maximum;
};

struct Clip : Bounds {
  using Bounds::Bounds;
  [[gnu::always_inline]] float operator()(float x) const { return x < minimum ? minimum : x > maximum ? maximum : x; }
};

struct ClipGrad : Bounds {
  using Bounds::Bounds;
  [[gnu::always_inline]] float operator()(float x, float dy) const { return x >= minimum && x <= maximum ? dy : 0.0f; }
};

template <class Function>
void add_unary(std::vector<NamedKernel>& kernels, std::string_view op) {
  kernels.push_back({op, "f32->f32", construct<ElementwiseKernel<Function, float>>});
  kernels.push_back({op, "bf16->bf16", construct<ElementwiseKernel<Function, BFloat16>>});
}

template <class Function>
void add_binary(std::vector<NamedKernel>& kernels, std::string_view op) {
  kernels.push_back({op, "f32,f32->f32", construct<ElementwiseKernel<Function, float>>});
  kernels.push_back({op, "bf16,bf16->bf16", construct<ElementwiseKernel<Function, BFloat16>>});
}

}  // namespace

std::vector<NamedKernel> activation_kernels() {
  std::vector<NamedKernel> kernels;
  add_unary<Silu>(kernels, "silu");
  add_binary<SiluGrad>(kernels, "silu_grad");
  add_unary<GeluExact>(kernels, "gelu_exact");
  add_binary<GeluExactGrad>(kernels, "gelu_exact_grad");
  add_unary<SoftCap>(kernels, "soft_cap");
  add_binary<SoftCapGrad>(kernels, "soft_cap_grad");
  add_unary<Clip>(kernels, "clip");
  add_binary<ClipGrad>(kernels, "clip_grad");
  add_binary<Multiply>(kernels, "multiply");
  return kernels;
}

std::vector<KernelCase> activation_kernel_cases(const CaseSizes& sizes) {
  const TensorType x = sizes.x();
  return {{"gelu_exact", {}, {x}},
          {"gelu_exact_grad", {}, {x, x}},
          {"silu", {}, {x}},
          {"silu_grad", {}, {x, x}},
          {"multiply", {}, {x, x}},
          {"soft_cap", SoftCapAttributes{5}, {x}},
          {"soft_cap_grad", SoftCapAttributes{5}, {x, x}},
          {"clip", ClipBoundsAttributes{-1, 1}, {x}},
          {"clip_grad", ClipBoundsAttributes{-1, 1}, {x, x}}};
}

}  // namespace shardscope
