#include <algorithm>

#include "engine/ops/constant.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/storage.h"

namespace shardscope {

namespace {

// -> the value everywhere.
template <class T>
void constant(const KernelArguments& of, const StepContext&) {
  T* y = of.outputs[0].as<T>();
  T value;
  store(static_cast<float>(of.attributes->as<ConstantAttributes>().value), value);
  parallel_for(of.threads, of.outputs[0].count(), 1024,
               [&](int64_t begin, int64_t end, int) { std::fill(y + begin, y + end, value); });
}

}  // namespace

std::vector<NamedKernel> constant_kernels() {
  return {{"constant", "->f32", construct_function<constant<float>>},
          {"constant", "->bf16", construct_function<constant<BFloat16>>}};
}

std::vector<KernelCase> constant_kernel_cases(const CaseSizes& sizes) {
  return {{"constant", ConstantAttributes{0.5, sizes.x()}, {}}};
}

}  // namespace shardscope
