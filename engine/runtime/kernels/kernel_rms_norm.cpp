#include <algorithm>
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

// A kernel over rows of `columns` numbers, of which the operand `x` has as many as are held here.
class RowKernel : public Kernel {
 protected:
  RowKernel(const KernelArguments& arguments, size_t x)
      : x_(arguments.inputs[x].f32()),
        columns_(arguments.inputs[x].shape.back()),
        rows_(columns_ == 0 ? 0 : arguments.inputs[x].count() / columns_),
        threads_(arguments.threads) {}

  const float* x_;
  int64_t columns_, rows_;
  int threads_;
};

// x -> squares.
class SquaresKernel : public RowKernel {
 public:
  explicit SquaresKernel(const KernelArguments& arguments)
      : RowKernel(arguments, 0), squares_(arguments.outputs[0].f32()) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int) {
      sum_squares(x_ + begin * columns_, end - begin, columns_, squares_ + begin);
    });
  }

 private:
  float* squares_;
};

// (x, gamma, squares) -> y.
class RmsNormKernel : public RowKernel {
 public:
  explicit RmsNormKernel(const KernelArguments& arguments)
      : RowKernel(arguments, 0),
        gamma_(arguments.inputs[1].f32()),
        scale_(arguments, 2),
        y_(arguments.outputs[0].f32()) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16,
                 [&](int64_t begin, int64_t end, int) { rms_normalise(x_, gamma_, scale_, begin, end, columns_, y_); });
  }

 private:
  const float* gamma_;
  RowScale scale_;
  float* y_;
};

// (dy, x, gamma) -> products.
class GradProductKernel : public RowKernel {
 public:
  explicit GradProductKernel(const KernelArguments& arguments)
      : RowKernel(arguments, 1),
        dy_(arguments.inputs[0].f32()),
        gamma_(arguments.inputs[2].f32()),
        products_(arguments.outputs[0].f32()) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int) {
      sum_products(dy_ + begin * columns_, x_ + begin * columns_, gamma_, end - begin, columns_, products_ + begin);
    });
  }

 private:
  const float* dy_;
  const float* gamma_;
  float* products_;
};

// (dy, x, gamma, squares, products) -> dx.
class RmsGradInputKernel : public RowKernel {
 public:
  explicit RmsGradInputKernel(const KernelArguments& arguments)
      : RowKernel(arguments, 1),
        dy_(arguments.inputs[0].f32()),
        gamma_(arguments.inputs[2].f32()),
        scale_(arguments, 3),
        products_(arguments.inputs[4].f32()),
        dx_(arguments.outputs[0].f32()) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int) {
      rms_grad_input(dy_, x_, gamma_, scale_, products_, begin, end, columns_, dx_);
    });
  }

 private:
  const float* dy_;
  const float* gamma_;
  RowScale scale_;
  const float* products_;
  float* dx_;
};

// (dy, x, squares) -> d gamma.
class GradScaleKernel : public RowKernel {
 public:
  explicit GradScaleKernel(const KernelArguments& arguments)
      : RowKernel(arguments, 1),
        dy_(arguments.inputs[0].f32()),
        scale_(arguments, 2),
        dgamma_(arguments.outputs[0].f32()),
        sums_(rows_, columns_, threads_, arguments.workspace) {}

  void run(const StepContext&) override {
    sums_.run(
        [&](int64_t first, int64_t last, int64_t column, int64_t width, ColumnSums<1>::Block& part) {
          grad_scale(dy_, x_, scale_, columns_, first, last, column, width, part[0]);
        },
        [&](int, int64_t column, float total) { dgamma_[column] = total; });
  }

 private:
  const float* dy_;
  RowScale scale_;
  float* dgamma_;
  ColumnSums<1> sums_;
};

}  // namespace

std::vector<NamedKernel> rms_norm_kernels() {
  return {{"rms_norm_squares", "f32->f32", construct<SquaresKernel>},
          {"rms_norm", "f32,f32,f32->f32", construct<RmsNormKernel>},
          {"rms_norm_grad_product", "f32,f32,f32->f32", construct<GradProductKernel>},
          {"rms_norm_grad_input", "f32,f32,f32,f32,f32->f32", construct<RmsGradInputKernel>},
          {"rms_norm_grad_scale", "f32,f32,f32->f32", construct<GradScaleKernel>}};
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
