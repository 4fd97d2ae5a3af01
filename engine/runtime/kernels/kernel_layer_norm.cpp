#include "engine/base/vector_versions.h"
#include "engine/ops/layer_norm.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/layer_norm_row.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

constexpr auto moments =
    vector_versions([](const float* x, int64_t rows, int64_t columns, float* sums, float* squares) {
      for (int64_t row = 0; row < rows; ++row, x += columns) {
        float sum = 0, square = 0;
#pragma omp simd reduction(+ : sum, square)
        for (int64_t c = 0; c < columns; ++c) {
          sum += x[c];
          square += x[c] * x[c];
        }
        sums[row] = sum;
        squares[row] = square;
      }
    });

constexpr auto normalise = vector_versions([](const float* x, RowMoments moments, const float* scale, const float* bias,
                                              int64_t begin, int64_t end, int64_t columns, float* y) {
  for (int64_t row = begin; row < end; ++row) {
    const RowNorm norm = moments.at(row);
    const float* from = x + row * columns;
    float* to = y + row * columns;
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) to[c] = (from[c] - norm.mean) * norm.inverse * scale[c] + bias[c];
  }
});

// x -> sums of x and of x^2 over the columns held here.
void layer_norm_moments(const KernelArguments& of, const StepContext&) {
  const float* x = of.inputs[0].f32();
  float *sums = of.outputs[0].f32(), *squares = of.outputs[1].f32();
  const int64_t columns = of.inputs[0].shape.back();
  parallel_for(of.threads, of.outputs[0].count(), 16, [&](int64_t begin, int64_t end, int) {
    moments(x + begin * columns, end - begin, columns, sums + begin, squares + begin);
  });
}

// (x, sums, squares, scale, bias) -> y.
void layer_norm(const KernelArguments& of, const StepContext&) {
  const float *x = of.inputs[0].f32(), *scale = of.inputs[3].f32(), *bias = of.inputs[4].f32();
  const RowMoments moments(of, 1);
  parallel_for(of.threads, of.inputs[1].count(), 16, [&](int64_t begin, int64_t end, int) {
    normalise(x, moments, scale, bias, begin, end, of.inputs[0].shape.back(), of.outputs[0].f32());
  });
}

}  // namespace

std::vector<NamedKernel> layer_norm_kernels() {
  return {{"layer_norm_moments", "f32->f32,f32", construct_function<layer_norm_moments>},
          {"layer_norm", "f32,f32,f32,f32,f32->f32", construct_function<layer_norm>}};
}

std::vector<KernelCase> layer_norm_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType x = sizes.x(), r = sizes.row(), e = sizes.feature();
  return {{"layer_norm_moments", {}, {x}},
          {"layer_norm", LayerNormAttributes{1e-6, CaseSizes::features}, {x, r, r, e, e}}};
}

}  // namespace shardscope
