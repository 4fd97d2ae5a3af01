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
void layer_norm_grad_moments(const KernelArguments& of, const StepContext&) {
  const float *dy = of.inputs[0].f32(), *x = of.inputs[1].f32(), *scale = of.inputs[4].f32();
  const RowMoments moments(of, 2);
  parallel_for(of.threads, of.inputs[2].count(), 16, [&](int64_t begin, int64_t end, int) {
    grad_moments(dy, x, moments, scale, begin, end, of.inputs[1].shape.back(), of.outputs[0].f32(),
                 of.outputs[1].f32());
  });
}

// (dy, x, sums, squares, scale, g1, g2) -> dx.
void layer_norm_grad_input(const KernelArguments& of, const StepContext&) {
  const float *dy = of.inputs[0].f32(), *x = of.inputs[1].f32(), *scale = of.inputs[4].f32();
  const float *g1 = of.inputs[5].f32(), *g2 = of.inputs[6].f32();
  const RowMoments moments(of, 2);
  parallel_for(of.threads, of.inputs[2].count(), 16, [&](int64_t begin, int64_t end, int) {
    grad_input(dy, x, moments, scale, g1, g2, begin, end, of.inputs[1].shape.back(), of.outputs[0].f32());
  });
}

// (dy, x, sums, squares) -> (dscale, dbias).
void layer_norm_grad_parameters(const KernelArguments& of, const StepContext&) {
  const float *dy = of.inputs[0].f32(), *x = of.inputs[1].f32();
  const RowMoments moments(of, 2);
  const int64_t columns = of.inputs[1].shape.back();
  ColumnSums<2>(of.inputs[2].count(), columns, of.threads, of.workspace)
      .run(
          [&](int64_t first, int64_t last, int64_t column, int64_t width, ColumnSums<2>::Block& part) {
            grad_parameters(dy, x, moments, columns, first, last, column, width, part[0], part[1]);
          },
          [&](int sum, int64_t column, float total) { of.outputs[static_cast<size_t>(sum)].f32()[column] = total; });
}

}  // namespace

std::vector<NamedKernel> layer_norm_grad_kernels() {
  return {{"layer_norm_grad_moments", "f32,f32,f32,f32,f32->f32,f32", construct_function<layer_norm_grad_moments>},
          {"layer_norm_grad_input", "f32,f32,f32,f32,f32,f32,f32->f32", construct_function<layer_norm_grad_input>},
          {"layer_norm_grad_parameters", "f32,f32,f32,f32->f32,f32", construct_function<layer_norm_grad_parameters>}};
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
