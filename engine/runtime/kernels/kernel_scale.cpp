#include "engine/base/vector_clones.h"
#include "engine/ops/scale.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/storage.h"

namespace shardscope {

namespace {

template <class T>
SHARDSCOPE_KERNEL_CLONES void multiply(const T* x, float factor, int64_t count, T* y) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) store(load(x[i]) * factor, y[i]);
}

// x -> scale x.
template <class T>
class ScaleKernel : public Kernel {
 public:
  explicit ScaleKernel(const KernelArguments& arguments)
      : x_(arguments.inputs[0].template as<T>()),
        y_(arguments.outputs[0].template as<T>()),
        count_(arguments.outputs[0].count()),
        factor_(static_cast<float>(arguments.attributes->as<ScaleAttributes>().scale)),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, count_, 1024,
                 [&](int64_t begin, int64_t end, int) { multiply(x_ + begin, factor_, end - begin, y_ + begin); });
  }

 private:
  const T* x_;
  T* y_;
  int64_t count_;
  float factor_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> scale_kernels() {
  return {{"scale", "f32->f32", construct<ScaleKernel<float>>},
          {"scale", "bf16->bf16", construct<ScaleKernel<BFloat16>>}};
}

}  // namespace shardscope
