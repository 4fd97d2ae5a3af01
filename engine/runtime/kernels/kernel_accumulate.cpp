#include "engine/base/vector_versions.h"
#include "engine/ops/scale.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/storage.h"

namespace shardscope {

namespace {

constexpr auto scale_row = vector_versions([]<class T>(const T* x, float scale, T* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) store(scale * load(x[i]), y[i]);
});

constexpr auto add_scaled_row = vector_versions([]<class T>(const T* x, float scale, T* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) store(load(y[i]) + scale * load(x[i]), y[i]);
});

template <class T>
class AccumulateKernel : public Kernel {
 public:
  explicit AccumulateKernel(const KernelArguments& arguments)
      : scale_(static_cast<float>(arguments.attributes->as<ScaleAttributes>().scale)),
        x_(arguments.inputs[0].template as<T>()),
        y_(arguments.outputs[0].template as<T>()),
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads) {}

  void run(const StepContext& context) override {
    parallel_for(threads_, count_, 1024, [&](int64_t begin, int64_t end, int) {
      if (context.first) scale_row(x_ + begin, scale_, y_ + begin, end - begin);
      else add_scaled_row(x_ + begin, scale_, y_ + begin, end - begin);
    });
  }

 private:
  float scale_;
  const T* x_;
  T* y_;
  int64_t count_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> accumulate_kernels() {
  return {{"accumulate", "f32->f32", construct<AccumulateKernel<float>>},
          {"accumulate", "bf16->bf16", construct<AccumulateKernel<BFloat16>>}};
}

std::vector<KernelCase> accumulate_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  return {{"accumulate", ScaleAttributes{0.5}, {sizes.x()}}};
}

}  // namespace shardscope
