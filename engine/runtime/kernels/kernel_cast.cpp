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
class CastKernel : public Kernel {
 public:
  explicit CastKernel(const KernelArguments& arguments)
      : x_(arguments.inputs[0].template as<From>()),
        y_(arguments.outputs[0].template as<To>()),
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, count_, 1024, [&](int64_t begin, int64_t end, int) {
      if constexpr (std::is_same_v<From, To>) {
        std::copy(x_ + begin, x_ + end, y_ + begin);
      } else {
        convert(x_ + begin, y_ + begin, end - begin);
      }
    });
  }

 private:
  const From* x_;
  To* y_;
  int64_t count_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> cast_kernels() {
  return {{"cast", "f32->bf16", construct<CastKernel<float, BFloat16>>},
          {"cast", "bf16->f32", construct<CastKernel<BFloat16, float>>},
          {"cast", "f32->f32", construct<CastKernel<float, float>>},
          {"cast", "bf16->bf16", construct<CastKernel<BFloat16, BFloat16>>}};
}

std::vector<KernelCase> cast_kernel_cases(const CaseSizes& sizes) {
  const DType other = sizes.dtype == DType::f32 ? DType::bf16 : DType::f32;
  return {{"cast", CastAttributes{other}, {sizes.x()}}};
}

}  // namespace shardscope
