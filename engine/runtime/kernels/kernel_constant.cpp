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
class ConstantKernel : public Kernel {
 public:
  explicit ConstantKernel(const KernelArguments& arguments)
      : y_(arguments.outputs[0].template as<T>()), count_(arguments.outputs[0].count()), threads_(arguments.threads) {
    store(static_cast<float>(arguments.attributes->as<ConstantAttributes>().value), value_);
  }

  void run(const StepContext&) override {
    parallel_for(threads_, count_, 1024,
                 [&](int64_t begin, int64_t end, int) { std::fill(y_ + begin, y_ + end, value_); });
  }

 private:
  T* y_;
  int64_t count_;
  T value_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> constant_kernels() {
  return {{"constant", "->f32", construct<ConstantKernel<float>>},
          {"constant", "->bf16", construct<ConstantKernel<BFloat16>>}};
}

std::vector<KernelCase> constant_kernel_cases(const CaseSizes& sizes) {
  return {{"constant", ConstantAttributes{0.5, sizes.x()}, {}}};
}

}  // namespace shardscope
