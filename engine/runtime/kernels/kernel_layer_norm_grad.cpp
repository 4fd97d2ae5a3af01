#include "engine/base/vector_versions.h"
#include "engine/ops/layer_norm.h"
#include "engine/runtime/kernels/column_sums.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/layer_norm_row.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

constexpr auto grad_moments =
    vector_versions([](const float* dy, const float* x, RowMoments moments, const float* scale, int64_t begin,
                       int64_t end, int64_t columns, float* g1, float* g2) {
      for (int64_t row = begin; row < end; ++row) {
        const RowNorm norm = moments.at(row);
        const float* from = x + row * columns;
        const float* cotangent = dy + row * columns;
        float plain = 0, weighted = 0;
#pragma omp simd reduction(+ : plain, weighted)
        for (int64_t c = 0; c < columns; ++c) {
          const float scaled = cotangent[c] * scale[c];
          plain += scaled;
          weighted += scaled * ((from[c] - norm.mean) * norm.inverse);
        }
        g1[row] = plain;
        g2[row] = weighted;
      }
    });

constexpr auto grad_input =
    vector_versions([](const float* dy, const float* x, RowMoments moments, const float* scale, const float* g1,
                       const float* g2, int64_t begin, int64_t end, int64_t columns, float* dx) {
      for (int64_t row = begin; row < end; ++row) {
        const RowNorm norm = moments.at(row);
        const float plain = g1[row] / moments.features, weighted = g2[row] / moments.features;
        const float* from = x + row * columns;
        const float* cotangent = dy + row * columns;
        float* to = dx + row * columns;
#pragma omp simd
        for (int64_t c = 0; c < columns; ++c) {
          const float xhat = (from[c] - norm.mean) * norm.inverse;
          to[c] = norm.inverse * (cotangent[c] * scale[c] - plain - xhat * weighted);
        }
      }
    });

// Adds dy xhat and dy of rows [first, last), for `width` columns from `column`.
constexpr auto grad_parameters =
    vector_versions([](const float* dy, const float* x, RowMoments moments, int64_t columns, int64_t first,
                       int64_t last, int64_t column, int64_t width, float* dscale, float* dbias) {
      for (int64_t row = first; row < last; ++row) {
        const RowNorm norm = moments.at(row);
        const float* from = x + row * columns + column;
        const float* cotangent = dy + row * columns + column;
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) {
          dscale[c] += cotangent[c] * ((from[c] - norm.mean) * norm.inverse);
          dbias[c] += cotangent[c];
        }
      }
    });

// (dy, x, sums, squares, scale) -> sums over the columns held here of dy scale and of dy scale xhat.
class GradMomentsKernel : public Kernel {
 public:
  explicit GradMomentsKernel(const KernelArguments& arguments)
      : dy_(arguments.inputs[0].f32()),
        x_(arguments.inputs[1].f32()),
        moments_(arguments, 2),
        scale_(arguments.inputs[4].f32()),
        g1_(arguments.outputs[0].f32()),
        g2_(arguments.outputs[1].f32()),
        rows_(arguments.inputs[2].count()),
        columns_(arguments.inputs[1].shape.back()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int) {
      grad_moments(dy_, x_, moments_, scale_, begin, end, columns_, g1_, g2_);
    });
  }

 private:
  const float* dy_;
  const float* x_;
  RowMoments moments_;
  const float* scale_;
  float* g1_;
  float* g2_;
  int64_t rows_, columns_;
  int threads_;
};

// (dy, x, sums, squares, scale, g1, g2) -> dx.
class GradInputKernel : public Kernel {
 public:
  explicit GradInputKernel(const KernelArguments& arguments)
      : dy_(arguments.inputs[0].f32()),
        x_(arguments.inputs[1].f32()),
        moments_(arguments, 2),
        scale_(arguments.inputs[4].f32()),
        g1_(arguments.inputs[5].f32()),
        g2_(arguments.inputs[6].f32()),
        dx_(arguments.outputs[0].f32()),
        rows_(arguments.inputs[2].count()),
        columns_(arguments.inputs[1].shape.back()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int) {
      grad_input(dy_, x_, moments_, scale_, g1_, g2_, begin, end, columns_, dx_);
    });
  }

 private:
  const float* dy_;
  const float* x_;
  RowMoments moments_;
  const float* scale_;
  const float* g1_;
  const float* g2_;
  float* dx_;
  int64_t rows_, columns_;
  int threads_;
};

// (dy, x, sums, squares) -> (dscale, dbias).
class GradParametersKernel : public Kernel {
 public:
  explicit GradParametersKernel(const KernelArguments& arguments)
      : dy_(arguments.inputs[0].f32()),
        x_(arguments.inputs[1].f32()),
        moments_(arguments, 2),
        dscale_(arguments.outputs[0].f32()),
        dbias_(arguments.outputs[1].f32()),
        columns_(arguments.inputs[1].shape.back()),
        sums_(arguments.inputs[2].count(), columns_, arguments.threads, arguments.workspace) {}

  void run(const StepContext&) override {
    sums_.run(
        [&](int64_t first, int64_t last, int64_t column, int64_t width, ColumnSums<2>::Block& part) {
          grad_parameters(dy_, x_, moments_, columns_, first, last, column, width, part[0], part[1]);
        },
        [&](int sum, int64_t column, float total) { (sum == 0 ? dscale_ : dbias_)[column] = total; });
  }

 private:
  const float* dy_;
  const float* x_;
  RowMoments moments_;
  float* dscale_;
  float* dbias_;
  int64_t columns_;
  ColumnSums<2> sums_;
};

}  // namespace

std::vector<NamedKernel> layer_norm_grad_kernels() {
  return {{"layer_norm_grad_moments", "f32,f32,f32,f32,f32->f32,f32", construct<GradMomentsKernel>},
          {"layer_norm_grad_input", "f32,f32,f32,f32,f32,f32,f32->f32", construct<GradInputKernel>},
          {"layer_norm_grad_parameters", "f32,f32,f32,f32->f32,f32", construct<GradParametersKernel>}};
}

std::vector<KernelCase> layer_norm_grad_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType x = sizes.x(), r = sizes.row(), e = sizes.feature();
  const LayerNormAttributes norm{1e-6, CaseSizes::features};
  return {{"layer_norm_grad_moments", norm, {x, x, r, r, e}},
          {"layer_norm_grad_input", norm, {x, x, r, r, e, r, r}},
          {"layer_norm_grad_parameters", norm, {x, x, r, r}}};
}

}  // namespace shardscope
