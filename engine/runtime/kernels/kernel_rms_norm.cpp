#include <cmath>

#include "engine/base/vector_versions.h"
#include "engine/ops/layer_norm.h"
#include "engine/runtime/kernels/column_sums.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

// 1 / root mean square of each row, from its sum of squares.
struct RowScale {
  const float* squares;
  float features, epsilon;

  RowScale(const KernelArguments& arguments, size_t operand)
      : squares(arguments.inputs[operand].f32()),
        features(static_cast<float>(arguments.attributes->as<LayerNormAttributes>().features)),
        epsilon(static_cast<float>(arguments.attributes->as<LayerNormAttributes>().epsilon)) {}

  [[gnu::always_inline]] float at(int64_t row) const { return 1.0f / std::sqrt(squares[row] / features + epsilon); }
};

constexpr auto sum_squares = vector_versions([](const float* x, int64_t rows, int64_t columns, float* squares) {
  for (int64_t row = 0; row < rows; ++row, x += columns) {
    float square = 0;
#pragma omp simd reduction(+ : square)
    for (int64_t c = 0; c < columns; ++c) square += x[c] * x[c];
    squares[row] = square;
  }
});

constexpr auto sum_products = vector_versions(
    [](const float* dy, const float* x, const float* gamma, int64_t rows, int64_t columns, float* products) {
      for (int64_t row = 0; row < rows; ++row, x += columns, dy += columns) {
        float product = 0;
#pragma omp simd reduction(+ : product)
        for (int64_t c = 0; c < columns; ++c) product += dy[c] * gamma[c] * x[c];
        products[row] = product;
      }
    });

constexpr auto rms_normalise = vector_versions(
    [](const float* x, const float* gamma, RowScale scale, int64_t begin, int64_t end, int64_t columns, float* y) {
      for (int64_t row = begin; row < end; ++row) {
        const float r = scale.at(row);
        const float* from = x + row * columns;
        float* to = y + row * columns;
#pragma omp simd
        for (int64_t c = 0; c < columns; ++c) to[c] = gamma[c] * from[c] * r;
      }
    });

constexpr auto rms_grad_input =
    vector_versions([](const float* dy, const float* x, const float* gamma, RowScale scale, const float* products,
                       int64_t begin, int64_t end, int64_t columns, float* dx) {
      for (int64_t row = begin; row < end; ++row) {
        const float r = scale.at(row), pull = r * r * r * products[row] / scale.features;
        const float* from = x + row * columns;
        const float* cotangent = dy + row * columns;
        float* to = dx + row * columns;
#pragma omp simd
        for (int64_t c = 0; c < columns; ++c) to[c] = cotangent[c] * gamma[c] * r - from[c] * pull;
      }
    });

// Adds dy x r of rows [first, last), for `width` columns from `column`.
constexpr auto grad_scale =
    vector_versions([](const float* dy, const float* x, RowScale scale, int64_t columns, int64_t first, int64_t last,
                       int64_t column, int64_t width, float* dgamma) {
      for (int64_t row = first; row < last; ++row) {
        const float r = scale.at(row);
        const float* from = x + row * columns + column;
        const float* cotangent = dy + row * columns + column;
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) dgamma[c] += cotangent[c] * from[c] * r;
      }
    });

// Of an operand the columns held here, and the rows.
struct RowsHeld {
  explicit RowsHeld(const TensorView& x) : columns(x.shape.back()), rows(columns == 0 ? 0 : x.count() / columns) {}
  int64_t columns, rows;
};

// x -> squares.
void rms_norm_squares(const KernelArguments& of, const StepContext&) {
  const float* x = of.inputs[0].f32();
  float* squares = of.outputs[0].f32();
  const RowsHeld held(of.inputs[0]);
  parallel_for(of.threads, held.rows, 16, [&](int64_t begin, int64_t end, int) {
    sum_squares(x + begin * held.columns, end - begin, held.columns, squares + begin);
  });
}

// (x, gamma, squares) -> y.
void rms_norm(const KernelArguments& of, const StepContext&) {
  const float *x = of.inputs[0].f32(), *gamma = of.inputs[1].f32();
  const RowScale scale(of, 2);
  const RowsHeld held(of.inputs[0]);
  parallel_for(of.threads, held.rows, 16, [&](int64_t begin, int64_t end, int) {
    rms_normalise(x, gamma, scale, begin, end, held.columns, of.outputs[0].f32());
  });
}

// (dy, x, gamma) -> products.
void rms_norm_grad_product(const KernelArguments& of, const StepContext&) {
  const float *dy = of.inputs[0].f32(), *x = of.inputs[1].f32(), *gamma = of.inputs[2].f32();
  float* products = of.outputs[0].f32();
  const RowsHeld held(of.inputs[1]);
  parallel_for(of.threads, held.rows, 16, [&](int64_t begin, int64_t end, int) {
    const int64_t at = begin * held.columns;
    sum_products(dy + at, x + at, gamma, end - begin, held.columns, products + begin);
  });
}

// (dy, x, gamma, squares, products) -> dx.
void rms_norm_grad_input(const KernelArguments& of, const StepContext&) {
  const float *dy = of.inputs[0].f32(), *x = of.inputs[1].f32(), *gamma = of.inputs[2].f32();
  const float* products = of.inputs[4].f32();
  const RowScale scale(of, 3);
  const RowsHeld held(of.inputs[1]);
  parallel_for(of.threads, held.rows, 16, [&](int64_t begin, int64_t end, int) {
    rms_grad_input(dy, x, gamma, scale, products, begin, end, held.columns, of.outputs[0].f32());
  });
}

// (dy, x, squares) -> d gamma.
void rms_norm_grad_scale(const KernelArguments& of, const StepContext&) {
  const float *dy = of.inputs[0].f32(), *x = of.inputs[1].f32();
  float* dgamma = of.outputs[0].f32();
  const RowScale scale(of, 2);
  const RowsHeld held(of.inputs[1]);
  ColumnSums<1>(held.rows, held.columns, of.threads, of.workspace)
      .run(
          [&](int64_t first, int64_t last, int64_t column, int64_t width, ColumnSums<1>::Block& part) {
            grad_scale(dy, x, scale, held.columns, first, last, column, width, part[0]);
          },
          [&](int, int64_t column, float total) { dgamma[column] = total; });
}

}  // namespace

std::vector<NamedKernel> rms_norm_kernels() {
  return {{"rms_norm_squares", "f32->f32", construct_function<rms_norm_squares>},
          {"rms_norm", "f32,f32,f32->f32", construct_function<rms_norm>},
          {"rms_norm_grad_product", "f32,f32,f32->f32", construct_function<rms_norm_grad_product>},
          {"rms_norm_grad_input", "f32,f32,f32,f32,f32->f32", construct_function<rms_norm_grad_input>},
          {"rms_norm_grad_scale", "f32,f32,f32->f32", construct_function<rms_norm_grad_scale>}};
}

std::vector<KernelCase> rms_norm_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType x = sizes.x(), r = sizes.row(), e = sizes.feature();
  const LayerNormAttributes norm{1e-6, CaseSizes::features};
  return {{"rms_norm_squares", {}, {x}},
          {"rms_norm", norm, {x, e, r}},
          {"rms_norm_grad_product", {}, {x, x, e}},
          {"rms_norm_grad_input", norm, {x, x, e, r, r}},
          {"rms_norm_grad_scale", norm, {x, x, r}}};
}

}  // namespace shardscope
