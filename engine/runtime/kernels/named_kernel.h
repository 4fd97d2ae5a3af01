#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/runtime/kernels/kernel.h"

namespace shardscope {

struct NamedKernel {
  std::string_view op;
  std::string_view types;  // as type_signature writes them; "f32...->f32": any number of operands of that type
  KernelFactory factory;
};

// Of each family of kernels, which is a function NAME_kernels() of one file; what they compute is given in engine/ops.
// Written by the build (cmake/registered.cmake).
std::vector<std::vector<NamedKernel>> kernel_families();

template <class T>
std::unique_ptr<Kernel> construct(const KernelArguments& arguments) {
  return std::make_unique<T>(arguments);
}

// Of a kernel that keeps nothing but its arguments: `function` is called with them and the StepContext.
template <auto function>
std::unique_ptr<Kernel> construct_function(const KernelArguments& arguments) {
  class FunctionKernel : public Kernel {
   public:
    explicit FunctionKernel(const KernelArguments& of) : arguments_(of) {}
    void run(const StepContext& context) override { function(arguments_, context); }

   private:
    const KernelArguments arguments_;
  };
  return std::make_unique<FunctionKernel>(arguments);
}

}  // namespace shardscope
