#include "engine/ops/product_layout.h"

#include <algorithm>
#include <iterator>

#include "engine/base/error.h"

namespace shardscope {

namespace {

std::string common(const std::string& of, const std::string& with) {
  std::string labels;
  std::copy_if(of.begin(), of.end(), std::back_inserter(labels),
               [&](char label) { return with.find(label) != std::string::npos; });
  return labels;
}

}  // namespace

ProductLayout product_layout(const Equation& equation) {
  const std::string &a = equation.operands[0], &b = equation.operands[1], &c = equation.result;
  const std::string rows = common(a, c), columns = common(b, c), contraction = common(a, b);
  const bool a_fits = a == rows + contraction || a == contraction + rows;
  const bool b_fits = b == contraction + columns || b == columns + contraction;
  const bool c_fits = c == rows + columns || c == columns + rows;
  if (!a_fits || !b_fits || !c_fits) {
    throw Failure(Error{"equation", "equation '" + to_string(equation) + "' is not one matrix product", "",
                        "the dimensions of rows, columns and contraction must each be neighbours, in the same order "
                        "in both arrays that have them, and no dimension may occur in all three"});
  }
  return {a != rows + contraction, b != contraction + columns, c != rows + columns};
}

ProductSizes product_sizes(const Equation& equation, const Shape& a, const Shape& b) {
  ProductSizes sizes;
  for (size_t d = 0; d < a.size(); ++d) {
    const bool contracted = equation.operands[1].find(equation.operands[0][d]) != std::string::npos;
    (contracted ? sizes.k : sizes.m) *= a[d];
  }
  for (size_t d = 0; d < b.size(); ++d) {
    if (equation.operands[0].find(equation.operands[1][d]) == std::string::npos) sizes.n *= b[d];
  }
  return sizes;
}

}  // namespace shardscope
