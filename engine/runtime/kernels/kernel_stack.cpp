#include <algorithm>

#include "engine/ops/stack.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/storage.h"

namespace shardscope {

namespace {

// Between the arrays and the one in which they lie along a dimension: runs of the dimensions behind it.
template <class T, bool stacking>
class StackKernel : public Kernel {
 public:
  explicit StackKernel(const KernelArguments& arguments)
      : whole_((stacking ? arguments.outputs : arguments.inputs)[0].template as<T>()), threads_(arguments.threads) {
    const std::vector<TensorView>& parts = stacking ? arguments.inputs : arguments.outputs;
    for (const TensorView& part : parts) parts_.push_back(part.template as<T>());
    const Shape& shape = parts[0].shape;
    for (size_t d = static_cast<size_t>(arguments.attributes->as<StackAttributes>().dimension); d < shape.size(); ++d) {
      run_ *= shape[d];
    }
    runs_ = run_ == 0 ? 0 : parts[0].count() / run_;
  }

  void run(const StepContext&) override {
    const int64_t count = static_cast<int64_t>(parts_.size());
    parallel_for(threads_, runs_, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t part = 0; part < count; ++part) {
          T* in_whole = whole_ + (i * count + part) * run_;
          T* in_part = parts_[static_cast<size_t>(part)] + i * run_;
          stacking ? std::copy_n(in_part, run_, in_whole) : std::copy_n(in_whole, run_, in_part);
        }
      }
    });
  }

 private:
  T* whole_;
  int threads_;
  std::vector<T*> parts_;
  int64_t run_ = 1, runs_ = 0;
};

}  // namespace

// Of two arrays, gate and up, or three: queries, keys and values.
std::vector<NamedKernel> stack_kernels() {
  return {{"stack", "f32,f32->f32", construct<StackKernel<float, true>>},
          {"stack", "bf16,bf16->bf16", construct<StackKernel<BFloat16, true>>},
          {"unstack", "f32->f32,f32", construct<StackKernel<float, false>>},
          {"unstack", "bf16->bf16,bf16", construct<StackKernel<BFloat16, false>>},
          {"stack", "f32,f32,f32->f32", construct<StackKernel<float, true>>},
          {"stack", "bf16,bf16,bf16->bf16", construct<StackKernel<BFloat16, true>>},
          {"unstack", "f32->f32,f32,f32", construct<StackKernel<float, false>>},
          {"unstack", "bf16->bf16,bf16,bf16", construct<StackKernel<BFloat16, false>>}};
}

std::vector<KernelCase> stack_kernel_cases(const CaseSizes& sizes) {
  const TensorType x = sizes.x();
  return {{"stack", StackAttributes{1, 2}, {x, x}},
          {"unstack", StackAttributes{0, 2}, {{{2, sizes.rows, CaseSizes::features}, sizes.dtype}}},
          {"stack", StackAttributes{0, 3}, {x, x, x}},
          {"unstack", StackAttributes{0, 3}, {{{3, sizes.rows, CaseSizes::features}, sizes.dtype}}}};
}

}  // namespace shardscope
