#include <algorithm>

#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

// Sizes of slots (b, s, k, d).
struct SlotShape {
  explicit SlotShape(const TensorView& slots)
      : rows(slots.shape[0] * slots.shape[1]), count(slots.shape[2]), width(slots.shape[3]) {}
  int64_t rows, count, width;
};

// (slots, weights) -> sums.
void weighted_sum(const KernelArguments& of, const StepContext&) {
  const SlotShape shape(of.inputs[0]);
  const float *slots = of.inputs[0].f32(), *weights = of.inputs[1].f32();
  float* sums = of.outputs[0].f32();
  parallel_for(of.threads, shape.rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      float* sum = sums + row * shape.width;
      std::fill_n(sum, shape.width, 0.0f);
      for (int64_t k = 0; k < shape.count; ++k) {
        const float weight = weights[row * shape.count + k];
        const float* slot = slots + (row * shape.count + k) * shape.width;
        for (int64_t d = 0; d < shape.width; ++d) sum[d] += weight * slot[d];
      }
    }
  });
}

// (slots, weights, dy) -> (d slots, d weights).
void weighted_sum_grad(const KernelArguments& of, const StepContext&) {
  const SlotShape shape(of.inputs[0]);
  const float *slots = of.inputs[0].f32(), *weights = of.inputs[1].f32(), *all_dy = of.inputs[2].f32();
  float *dslots = of.outputs[0].f32(), *dweights = of.outputs[1].f32();
  parallel_for(of.threads, shape.rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t slot = begin * shape.count; slot < end * shape.count; ++slot) {
      const float *values = slots + slot * shape.width, *dy = all_dy + slot / shape.count * shape.width;
      const float weight = weights[slot];
      float* dvalues = dslots + slot * shape.width;
      float product = 0;
      for (int64_t d = 0; d < shape.width; ++d) {
        product += values[d] * dy[d];
        dvalues[d] = weight * dy[d];
      }
      dweights[slot] = product;
    }
  });
}

}  // namespace

std::vector<NamedKernel> weighted_sum_kernels() {
  return {{"weighted_sum", "f32,f32->f32", construct_function<weighted_sum>},
          {"weighted_sum_grad", "f32,f32,f32->f32,f32", construct_function<weighted_sum_grad>}};
}

std::vector<KernelCase> weighted_sum_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType slots = sizes.sequences({2, CaseSizes::features}), weights = sizes.sequences({2});
  return {{"weighted_sum", {}, {slots, weights}},
          {"weighted_sum_grad", {}, {slots, weights, sizes.sequences({CaseSizes::features})}}};
}

}  // namespace shardscope
