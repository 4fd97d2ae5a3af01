#include <algorithm>

#include "engine/ops/constant.h"
#include "engine/runtime/kernels/kernel_families.h"

namespace shardscope {

namespace {

class ConstantKernel : public Kernel {
 public:
  explicit ConstantKernel(const KernelArguments& arguments)
      : y_(arguments.outputs[0].f32()),
        count_(arguments.outputs[0].count()),
        value_(static_cast<float>(arguments.attributes->as<ConstantAttributes>().value)) {}

  void run(const StepContext&) override { std::fill_n(y_, count_, value_); }

 private:
  float* y_;
  int64_t count_;
  float value_;
};

}  // namespace

std::vector<NamedKernel> constant_kernels() { return {{"constant", make_kernel<ConstantKernel>}}; }

}  // namespace shardscope
