#include "engine/base/vector_clones.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/storage.h"
#include "engine/runtime/kernels/vector_math.h"

namespace shardscope {

namespace {

// 1/2 (1 + tanh(u)) = sigmoid(2 u), with 2 u = x (slope + curve x^2).
constexpr float slope = 1.5957691216057308f;  // 2 sqrt(2 / pi)
constexpr float curve = 0.044715f * slope;

template <class T>
SHARDSCOPE_KERNEL_CLONES void gelu(const T* from, T* to, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float x = load(from[i]);
    store(x * vector_sigmoid(x * (slope + curve * x * x)), to[i]);
  }
}

template <class T>
SHARDSCOPE_KERNEL_CLONES void gelu_grad(const T* from, const T* dy, T* dx, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float x = load(from[i]);
    const float square = x * x;
    const float fall = vector_exp(-x * (slope + curve * square));
    const float gate = 1.0f / (1.0f + fall);
    const float bend = gate * (fall * gate);
    // Where the gate is shut, large numbers times zero must be zero.
    const float tail = bend > 0.0f ? bend * x * (slope + 3.0f * curve * square) : 0.0f;
    store(load(dy[i]) * (gate + tail), dx[i]);
  }
}

template <class T>
class GeluKernel : public Kernel {
 public:
  explicit GeluKernel(const KernelArguments& arguments)
      : x_(arguments.inputs[0].template as<T>()),
        y_(arguments.outputs[0].template as<T>()),
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, count_, 1024, [&](int64_t begin, int64_t end, int) { gelu(x_, y_, begin, end); });
  }

 private:
  const T* x_;
  T* y_;
  int64_t count_;
  int threads_;
};

template <class T>
class GeluGradKernel : public Kernel {
 public:
  explicit GeluGradKernel(const KernelArguments& arguments)
      : x_(arguments.inputs[0].template as<T>()),
        dy_(arguments.inputs[1].template as<T>()),
        dx_(arguments.outputs[0].template as<T>()),
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, count_, 1024, [&](int64_t begin, int64_t end, int) { gelu_grad(x_, dy_, dx_, begin, end); });
  }

 private:
  const T* x_;
  const T* dy_;
  T* dx_;
  int64_t count_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> gelu_kernels() {
  return {{"gelu", "f32->f32", construct<GeluKernel<float>>},
          {"gelu", "bf16->bf16", construct<GeluKernel<BFloat16>>},
          {"gelu_grad", "f32,f32->f32", construct<GeluGradKernel<float>>},
          {"gelu_grad", "bf16,bf16->bf16", construct<GeluGradKernel<BFloat16>>}};
}

}  // namespace shardscope
