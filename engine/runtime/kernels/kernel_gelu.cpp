#include "engine/base/vector_clones.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/vector_math.h"

namespace shardscope {

namespace {

// 1/2 (1 + tanh(u)) = sigmoid(2 u), with 2 u = x (slope + curve x^2).
constexpr float slope = 1.5957691216057308f;  // 2 sqrt(2 / pi)
constexpr float curve = 0.044715f * slope;

SHARDSCOPE_KERNEL_CLONES void gelu(const float* x, float* y, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] * vector_sigmoid(x[i] * (slope + curve * x[i] * x[i]));
}

SHARDSCOPE_KERNEL_CLONES void gelu_grad(const float* x, const float* dy, float* dx, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float square = x[i] * x[i];
    const float fall = vector_exp(-x[i] * (slope + curve * square));
    const float gate = 1.0f / (1.0f + fall);
    const float bend = gate * (fall * gate);
    // Where the gate is shut, large numbers times zero must be zero.
    const float tail = bend > 0.0f ? bend * x[i] * (slope + 3.0f * curve * square) : 0.0f;
    dx[i] = dy[i] * (gate + tail);
  }
}

class GeluKernel : public Kernel {
 public:
  explicit GeluKernel(const KernelArguments& arguments)
      : x_(arguments.inputs[0].f32()),
        y_(arguments.outputs[0].f32()),
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, count_, 1024, [&](int64_t begin, int64_t end, int) { gelu(x_, y_, begin, end); });
  }

 private:
  const float* x_;
  float* y_;
  int64_t count_;
  int threads_;
};

class GeluGradKernel : public Kernel {
 public:
  explicit GeluGradKernel(const KernelArguments& arguments)
      : x_(arguments.inputs[0].f32()),
        dy_(arguments.inputs[1].f32()),
        dx_(arguments.outputs[0].f32()),
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, count_, 1024, [&](int64_t begin, int64_t end, int) { gelu_grad(x_, dy_, dx_, begin, end); });
  }

 private:
  const float* x_;
  const float* dy_;
  float* dx_;
  int64_t count_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> gelu_kernels() {
  return {{"gelu", make_kernel<GeluKernel>}, {"gelu_grad", make_kernel<GeluGradKernel>}};
}

}  // namespace shardscope
