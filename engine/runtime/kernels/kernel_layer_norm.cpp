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
class MomentsKernel : public Kernel {
 public:
  explicit MomentsKernel(const KernelArguments& arguments)
      : x_(arguments.inputs[0].f32()),
        sums_(arguments.outputs[0].f32()),
        squares_(arguments.outputs[1].f32()),
        rows_(arguments.outputs[0].count()),
        columns_(arguments.inputs[0].shape.back()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int) {
      moments(x_ + begin * columns_, end - begin, columns_, sums_ + begin, squares_ + begin);
    });
  }

 private:
  const float* x_;
  float* sums_;
  float* squares_;
  int64_t rows_, columns_;
  int threads_;
};

// (x, sums, squares, scale, bias) -> y.
class LayerNormKernel : public Kernel {
 public:
  explicit LayerNormKernel(const KernelArguments& arguments)
      : x_(arguments.inputs[0].f32()),
        moments_(arguments, 1),
        scale_(arguments.inputs[3].f32()),
        bias_(arguments.inputs[4].f32()),
        y_(arguments.outputs[0].f32()),
        rows_(arguments.inputs[1].count()),
        columns_(arguments.inputs[0].shape.back()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int) {
      normalise(x_, moments_, scale_, bias_, begin, end, columns_, y_);
    });
  }

 private:
  const float* x_;
  RowMoments moments_;
  const float* scale_;
  const float* bias_;
  float* y_;
  int64_t rows_, columns_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> layer_norm_kernels() {
  return {{"layer_norm_moments", "f32->f32,f32", construct<MomentsKernel>},
          {"layer_norm", "f32,f32,f32,f32,f32->f32", construct<LayerNormKernel>}};
}

std::vector<KernelCase> layer_norm_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType x = sizes.x(), r = sizes.row(), e = sizes.feature();
  return {{"layer_norm_moments", {}, {x}},
          {"layer_norm", LayerNormAttributes{1e-6, CaseSizes::features}, {x, r, r, e, e}}};
}

}  // namespace shardscope
