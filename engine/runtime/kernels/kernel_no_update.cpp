#include "engine/runtime/kernels/named_kernel.h"

namespace shardscope {

namespace {

// The parameter is the result's memory already.
class NoUpdateKernel : public Kernel {
 public:
  explicit NoUpdateKernel(const KernelArguments&) {}
  void run(const StepContext&) override {}
};

}  // namespace

std::vector<NamedKernel> no_update_kernels() {
  std::vector<NamedKernel> kernels;
  for (const char* types : {"f32,f32->f32", "f32,bf16->f32", "bf16,f32->bf16", "bf16,bf16->bf16",
                            "bf16,f32,f32->bf16,f32", "bf16,bf16,f32->bf16,f32"}) {
    kernels.push_back({"no_update", types, construct<NoUpdateKernel>});
  }
  return kernels;
}

}  // namespace shardscope
