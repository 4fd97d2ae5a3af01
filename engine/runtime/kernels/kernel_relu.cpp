#include "engine/base/vector_clones.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/storage.h"

namespace shardscope {

namespace {

template <class T>
SHARDSCOPE_KERNEL_CLONES void relu(const T* x, T* y, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float value = load(x[i]);
    store(value < 0.0f ? 0.0f : value, y[i]);
  }
}

template <class T>
SHARDSCOPE_KERNEL_CLONES void relu_grad(const T* y, const T* dy, T* dx, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float value = load(dy[i]);
    store(load(y[i]) > 0.0f ? value : 0.0f, dx[i]);
  }
}

template <class T>
class ReluKernel : public Kernel {
 public:
  explicit ReluKernel(const KernelArguments& arguments)
      : x_(arguments.inputs[0].template as<T>()),
        y_(arguments.outputs[0].template as<T>()),
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, count_, 1024, [&](int64_t begin, int64_t end, int) { relu(x_, y_, begin, end); });
  }

 private:
  const T* x_;
  T* y_;
  int64_t count_;
  int threads_;
};

template <class T>
class ReluGradKernel : public Kernel {
 public:
  explicit ReluGradKernel(const KernelArguments& arguments)
      : y_(arguments.inputs[0].template as<T>()),
        dy_(arguments.inputs[1].template as<T>()),
        dx_(arguments.outputs[0].template as<T>()),
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, count_, 1024, [&](int64_t begin, int64_t end, int) { relu_grad(y_, dy_, dx_, begin, end); });
  }

 private:
  const T* y_;
  const T* dy_;
  T* dx_;
  int64_t count_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> relu_kernels() {
  return {{"relu", "f32->f32", construct<ReluKernel<float>>},
          {"relu", "bf16->bf16", construct<ReluKernel<BFloat16>>},
          {"relu_grad", "f32,f32->f32", construct<ReluGradKernel<float>>},
          {"relu_grad", "bf16,bf16->bf16", construct<ReluGradKernel<BFloat16>>}};
}

}  // namespace shardscope
