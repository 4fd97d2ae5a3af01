#include <algorithm>

#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"

namespace shardscope {

namespace {

// tokens (b, s) -> labels, weights (b, s).
class NextTokenKernel : public Kernel {
 public:
  explicit NextTokenKernel(const KernelArguments& arguments)
      : tokens_(arguments.inputs[0].i32()),
        labels_(arguments.outputs[0].i32()),
        weights_(arguments.outputs[1].f32()),
        rows_(arguments.inputs[0].shape[0]),
        length_(arguments.inputs[0].shape[1]) {}

  void run(const StepContext&) override {
    const auto length = static_cast<float>(length_);
    for (int64_t row = 0; row < rows_; ++row) {
      const int64_t first = row * length_, last = first + length_ - 1;
      std::copy(tokens_ + first + 1, tokens_ + last + 1, labels_ + first);
      std::fill(weights_ + first, weights_ + last, length / (length - 1));
      labels_[last] = 0;
      weights_[last] = 0;
    }
  }

 private:
  const int32_t* tokens_;
  int32_t* labels_;
  float* weights_;
  int64_t rows_, length_;
};

}  // namespace

std::vector<NamedKernel> next_token_kernels() { return {{"next_token", "i32->i32,f32", construct<NextTokenKernel>}}; }

std::vector<KernelCase> next_token_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  return {{"next_token", {}, {sizes.tokens()}}};
}

}  // namespace shardscope
