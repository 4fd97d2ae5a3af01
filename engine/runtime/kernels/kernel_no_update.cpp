#include "engine/runtime/kernels/named_kernel.h"

namespace shardscope {

namespace {

// The parameter is the result's memory already.
void no_update(const KernelArguments&, const StepContext&) {}

}  // namespace

std::vector<NamedKernel> no_update_kernels() {
  std::vector<NamedKernel> kernels;
  for (const char* types : {"f32,f32->f32", "f32,bf16->f32", "bf16,f32->bf16", "bf16,bf16->bf16",
                            "bf16,f32,f32->bf16,f32", "bf16,bf16,f32->bf16,f32"}) {
    kernels.push_back({"no_update", types, construct_function<no_update>});
  }
  return kernels;
}

}  // namespace shardscope
