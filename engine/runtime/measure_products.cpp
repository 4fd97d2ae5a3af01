#include <algorithm>

#include "engine/ops/equation.h"
#include "engine/runtime/measurements.h"
#include "engine/runtime/timed_op.h"

namespace shardscope {

namespace {

constexpr int64_t sizes[] = {24, 120, 600, 3000};
constexpr double parts = 4;  // of the time: f32 and bf16, plain and transposed

double flops_of(const ProductTiming& product) {
  return 2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) * static_cast<double>(product.k);
}

std::vector<ProductTiming> grid() {
  std::vector<ProductTiming> products;
  for (int64_t m : sizes) {
    for (int64_t n : sizes) {
      for (int64_t k : sizes) products.push_back({Precision::f32, m, n, k, false, {}});
    }
  }
  std::ranges::stable_sort(products, {}, flops_of);
  return products;
}

}  // namespace

std::vector<ProductTiming> measure_products(int cores, double seconds) {
  std::vector<ProductTiming> measured;
  const std::vector<ProductTiming> products = grid();
  const double each = seconds / parts / static_cast<double>(products.size());
  for (DType dtype : {DType::f32, DType::bf16}) {
    for (bool transposed : {false, true}) {
      double seconds_per_flop = 0;  // of the largest before
      for (ProductTiming product : products) {
        constexpr double fewest_runs = 4;
        if (fewest_runs * flops_of(product) * seconds_per_flop > 2 * each) break;
        product.precision = precision_of(dtype);
        product.transposed_left = transposed;
        const auto [precision, m, n, k, is_transposed, none] = product;
        const TensorType left{transposed ? Shape{k, m} : Shape{m, k}, dtype}, right{{k, n}, dtype};
        const EquationAttributes equation{transposed ? "cr,cs->rs" : "rc,cs->rs"};
        product.time = time_op(cores, each, bytes_between_uses, "einsum", equation, {left, right}).time;
        seconds_per_flop = product.time.seconds / flops_of(product);
        measured.push_back(product);
      }
    }
  }
  return measured;
}

}  // namespace shardscope
