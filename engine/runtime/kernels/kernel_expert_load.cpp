#include <algorithm>

#include "engine/ops/expert_load.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"

namespace shardscope {

namespace {

class ExpertLoadKernel : public Kernel {
 public:
  explicit ExpertLoadKernel(const KernelArguments& arguments)
      : choices_(arguments.inputs[0].i32()),
        count_(arguments.inputs[0].count()),
        load_(arguments.outputs[0].f32()),
        experts_(arguments.outputs[0].count()) {}

  void run(const StepContext&) override {
    std::fill_n(load_, experts_, 0.0f);
    for (int64_t i = 0; i < count_; ++i) ++load_[choices_[i]];
  }

 private:
  const int32_t* choices_;
  int64_t count_;
  float* load_;
  int64_t experts_;
};

}  // namespace

std::vector<NamedKernel> expert_load_kernels() { return {{"expert_load", "i32->f32", construct<ExpertLoadKernel>}}; }

std::vector<KernelCase> expert_load_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  return {{"expert_load", ExpertLoadAttributes{CaseSizes::experts}, {sizes.tokens({2})}}};
}

}  // namespace shardscope
