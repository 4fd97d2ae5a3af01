#include "engine/base/vector_clones.h"
#include "engine/ops/scale.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

SHARDSCOPE_KERNEL_CLONES void scale_row(const float* x, float scale, float* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = scale * x[i];
}

SHARDSCOPE_KERNEL_CLONES void add_scaled_row(const float* x, float scale, float* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] += scale * x[i];
}

class AccumulateKernel : public Kernel {
 public:
  explicit AccumulateKernel(const KernelArguments& arguments)
      : scale_(static_cast<float>(arguments.attributes->as<ScaleAttributes>().scale)),
        x_(arguments.inputs[0].f32()),
        y_(arguments.outputs[0].f32()),
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads) {}

  void run(const StepContext& context) override {
    const auto add = context.first ? scale_row : add_scaled_row;
    parallel_for(threads_, count_, 1024,
                 [&](int64_t begin, int64_t end, int) { add(x_ + begin, scale_, y_ + begin, end - begin); });
  }

 private:
  float scale_;
  const float* x_;
  float* y_;
  int64_t count_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> accumulate_kernels() { return {{"accumulate", "f32->f32", construct<AccumulateKernel>}}; }

}  // namespace shardscope
