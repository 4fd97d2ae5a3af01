#include <algorithm>
#include <type_traits>

#include "engine/ops/cast.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/storage.h"

namespace shardscope {

namespace {

// x -> x of the result's type, rounded to the nearest; a copy where it is x's own.
template <class From, class To>
void cast(const KernelArguments& of, const StepContext&) {
  const From* x = of.inputs[0].as<From>();
  To* y = of.outputs[0].as<To>();
  parallel_for(of.threads, of.outputs[0].count(), 1024, [&](int64_t begin, int64_t end, int) {
    if constexpr (std::is_same_v<From, To>) {
      std::copy(x + begin, x + end, y + begin);
    } else {
      convert(x + begin, y + begin, end - begin);
    }
  });
}

}  // namespace

std::vector<NamedKernel> cast_kernels() {
  return {{"cast", "f32->bf16", construct_function<cast<float, BFloat16>>},
          {"cast", "bf16->f32", construct_function<cast<BFloat16, float>>},
          {"cast", "f32->f32", construct_function<cast<float, float>>},
          {"cast", "bf16->bf16", construct_function<cast<BFloat16, BFloat16>>}};
}

std::vector<KernelCase> cast_kernel_cases(const CaseSizes& sizes) {
  const DType other = sizes.dtype == DType::f32 ? DType::bf16 : DType::f32;
  return {{"cast", CastAttributes{other}, {sizes.x()}}};
}

}  // namespace shardscope
