#include <algorithm>

#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

// (slots, weights) -> sums.
class WeightedSumKernel : public Kernel {
 public:
  explicit WeightedSumKernel(const KernelArguments& arguments)
      : slots_(arguments.inputs[0].f32()),
        weights_(arguments.inputs[1].f32()),
        sums_(arguments.outputs[0].f32()),
        count_(arguments.inputs[0].shape[2]),
        width_(arguments.inputs[0].shape[3]),
        rows_(arguments.inputs[0].shape[0] * arguments.inputs[0].shape[1]),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        float* sum = sums_ + row * width_;
        std::fill_n(sum, width_, 0.0f);
        for (int64_t k = 0; k < count_; ++k) {
          const float weight = weights_[row * count_ + k];
          const float* slot = slots_ + (row * count_ + k) * width_;
          for (int64_t d = 0; d < width_; ++d) sum[d] += weight * slot[d];
        }
      }
    });
  }

 private:
  const float *slots_, *weights_;
  float* sums_;
  int64_t count_, width_, rows_;
  int threads_;
};

// (slots, weights, dy) -> (d slots, d weights).
class WeightedSumGradKernel : public Kernel {
 public:
  explicit WeightedSumGradKernel(const KernelArguments& arguments)
      : slots_(arguments.inputs[0].f32()),
        weights_(arguments.inputs[1].f32()),
        dy_(arguments.inputs[2].f32()),
        dslots_(arguments.outputs[0].f32()),
        dweights_(arguments.outputs[1].f32()),
        count_(arguments.inputs[0].shape[2]),
        width_(arguments.inputs[0].shape[3]),
        rows_(arguments.inputs[0].shape[0] * arguments.inputs[0].shape[1]),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t slot = begin * count_; slot < end * count_; ++slot) differentiate(slot);
    });
  }

 private:
  void differentiate(int64_t slot) const {
    const float *values = slots_ + slot * width_, *dy = dy_ + slot / count_ * width_;
    const float weight = weights_[slot];
    float* dvalues = dslots_ + slot * width_;
    float product = 0;
    for (int64_t d = 0; d < width_; ++d) {
      product += values[d] * dy[d];
      dvalues[d] = weight * dy[d];
    }
    dweights_[slot] = product;
  }

  const float *slots_, *weights_, *dy_;
  float *dslots_, *dweights_;
  int64_t count_, width_, rows_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> weighted_sum_kernels() {
  return {{"weighted_sum", "f32,f32->f32", construct<WeightedSumKernel>},
          {"weighted_sum_grad", "f32,f32,f32->f32,f32", construct<WeightedSumGradKernel>}};
}

std::vector<KernelCase> weighted_sum_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType slots = sizes.sequences({2, CaseSizes::features}), weights = sizes.sequences({2});
  return {{"weighted_sum", {}, {slots, weights}},
          {"weighted_sum_grad", {}, {slots, weights, sizes.sequences({CaseSizes::features})}}};
}

}  // namespace shardscope
