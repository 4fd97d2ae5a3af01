#include <algorithm>
#include <cmath>

#include "engine/base/vector_clones.h"
#include "engine/ops/global_norm.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

constexpr int64_t block = 4096;  // elements that are summed in f32

SHARDSCOPE_KERNEL_CLONES float squares(const float* x, int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += x[i] * x[i];
  return sum;
}

SHARDSCOPE_KERNEL_CLONES void rescale(const float* x, float norm, float to, int64_t count, float* out) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = x[i] / norm * to;
}

// The order of the sum is the same for any number of threads.
class SumOfSquaresKernel : public Kernel {
 public:
  explicit SumOfSquaresKernel(const KernelArguments& arguments)
      : x_(arguments.inputs[0].f32()),
        sum_(arguments.outputs[0].f32()),
        count_(arguments.inputs[0].count()),
        threads_(arguments.threads),
        sums_(static_cast<size_t>((count_ + block - 1) / block)) {}

  void run(const StepContext&) override {
    parallel_for(threads_, static_cast<int64_t>(sums_.size()), 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) sums_[i] = squares(x_ + i * block, std::min(block, count_ - i * block));
    });
    double total = 0;
    for (float sum : sums_) total += sum;
    *sum_ = static_cast<float>(total);
  }

 private:
  const float* x_;
  float* sum_;
  int64_t count_;
  int threads_;
  std::vector<float> sums_;
};

void global_norm(const KernelArguments& of, const StepContext&) {
  double total = 0;
  for (const TensorView& sum : of.inputs) total += *sum.f32();
  *of.outputs[0].f32() = static_cast<float>(std::sqrt(total));
}

void clip_by_global_norm(const KernelArguments& of, const StepContext&) {
  const float *x = of.inputs[0].f32(), norm = *of.inputs[1].f32();
  float* out = of.outputs[0].f32();
  const auto max_norm = static_cast<float>(of.attributes->as<ClipAttributes>().max_norm);
  const bool as_it_is = norm < max_norm;
  if (as_it_is && x == out) return;
  parallel_for(of.threads, of.outputs[0].count(), 1024, [&](int64_t begin, int64_t end, int) {
    if (as_it_is) {
      std::copy(x + begin, x + end, out + begin);
    } else {
      rescale(x + begin, norm, max_norm, end - begin, out + begin);
    }
  });
}

}  // namespace

std::vector<NamedKernel> global_norm_kernels() {
  return {{"sum_of_squares", "f32->f32", construct<SumOfSquaresKernel>},
          {"global_norm", "f32...->f32", construct_function<global_norm>},
          {"clip_by_global_norm", "f32,f32->f32", construct_function<clip_by_global_norm>}};
}

std::vector<KernelCase> global_norm_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  return {{"sum_of_squares", {}, {sizes.x()}}, {"clip_by_global_norm", ClipAttributes{}, {sizes.x(), sizes.scalar()}}};
}

}  // namespace shardscope
