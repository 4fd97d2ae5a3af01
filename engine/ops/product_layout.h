#pragma once

#include <cstdint>

#include "engine/base/shape.h"
#include "engine/ops/equation.h"

namespace shardscope {

// The one matrix product that an equation of two operands is: labels of the first operand and the result are rows (m),
// of the second and the result columns (n), of both operands the contraction (k).
struct ProductLayout {
  bool transpose_a = false;  // the first operand is stored as (k, m)
  bool transpose_b = false;  // the second as (n, k)
  bool transpose_c = false;  // the result as (n, m)
};

// Throws Failure (code equation) where the labels do not lie so that it is one product.
ProductLayout product_layout(const Equation& equation);

struct ProductSizes {
  int64_t m = 1, n = 1, k = 1;
};
ProductSizes product_sizes(const Equation& equation, const Shape& a, const Shape& b);

}  // namespace shardscope
