#include <algorithm>

#include "engine/base/vector_versions.h"
#include "engine/ops/scale.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

constexpr int64_t squared_error_block = 4096;  // elements that are summed in f32

constexpr auto sum_of_squares = vector_versions([](const float* x, const float* y, int64_t count) -> float {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
});

constexpr auto scaled_difference =
    vector_versions([](const float* x, const float* y, float scale, int64_t count, float* dx) {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) dx[i] = (x[i] - y[i]) * scale;
    });

// (x, y) -> sum of (x - y)^2, times the attribute scale. The order of the sum is the same for any number of threads.
class SquaredErrorKernel : public Kernel {
 public:
  explicit SquaredErrorKernel(const KernelArguments& arguments)
      : x_(arguments.inputs[0].f32()),
        y_(arguments.inputs[1].f32()),
        loss_(arguments.outputs[0].f32()),
        count_(arguments.inputs[0].count()),
        scale_(arguments.attributes->as<ScaleAttributes>().scale),
        threads_(arguments.threads),
        sums_(static_cast<size_t>((count_ + squared_error_block - 1) / squared_error_block)) {}

  void run(const StepContext&) override {
    parallel_for(threads_, static_cast<int64_t>(sums_.size()), 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i * squared_error_block;
        sums_[i] = sum_of_squares(x_ + first, y_ + first, std::min(squared_error_block, count_ - first));
      }
    });
    double total = 0;
    for (float sum : sums_) total += sum;
    *loss_ = static_cast<float>(total * scale_);
  }

 private:
  const float* x_;
  const float* y_;
  float* loss_;
  int64_t count_;
  double scale_;
  int threads_;
  std::vector<float> sums_;
};

// (x, y, cotangent of the loss) -> d x = 2 (x - y) scale cotangent; d y is its negative.
void squared_error_grad(const KernelArguments& of, const StepContext&) {
  const float *x = of.inputs[0].f32(), *y = of.inputs[1].f32();
  float* dx = of.outputs[0].f32();
  const auto scale = static_cast<float>(2 * of.attributes->as<ScaleAttributes>().scale * *of.inputs[2].f32());
  parallel_for(of.threads, of.outputs[0].count(), 1024, [&](int64_t begin, int64_t end, int) {
    scaled_difference(x + begin, y + begin, scale, end - begin, dx + begin);
  });
}

}  // namespace

std::vector<NamedKernel> squared_error_kernels() {
  return {{"squared_error", "f32,f32->f32", construct<SquaredErrorKernel>},
          {"squared_error_grad", "f32,f32,f32->f32", construct_function<squared_error_grad>}};
}

std::vector<KernelCase> squared_error_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType x = sizes.x();
  return {{"squared_error", ScaleAttributes{0.5}, {x, x}},
          {"squared_error_grad", ScaleAttributes{0.5}, {x, x, sizes.scalar()}}};
}

}  // namespace shardscope
