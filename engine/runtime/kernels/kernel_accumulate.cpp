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
void accumulate_scaled(const KernelArguments& of, const StepContext& context) {
  const auto scale = static_cast<float>(of.attributes->as<ScaleAttributes>().scale);
  const T* x = of.inputs[0].as<T>();
  T* y = of.outputs[0].as<T>();
  parallel_for(of.threads, of.outputs[0].count(), 1024, [&](int64_t begin, int64_t end, int) {
    if (context.first) scale_row(x + begin, scale, y + begin, end - begin);
    else add_scaled_row(x + begin, scale, y + begin, end - begin);
  });
}

}  // namespace

std::vector<NamedKernel> accumulate_kernels() {
  return {{"accumulate", "f32->f32", construct_function<accumulate_scaled<float>>},
          {"accumulate", "bf16->bf16", construct_function<accumulate_scaled<BFloat16>>}};
}

std::vector<KernelCase> accumulate_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  return {{"accumulate", ScaleAttributes{0.5}, {sizes.x()}}};
}

}  // namespace shardscope
