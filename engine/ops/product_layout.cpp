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

std::string without_brackets(std::string labels) {
  std::erase_if(labels, [](char c) { return c == '(' || c == ')'; });
  return labels;
}

}  // namespace

ProductLayout product_layout(const Equation& equation) {
  const std::string a = without_brackets(equation.operands[0]), b = without_brackets(equation.operands[1]),
                    c = without_brackets(equation.result);
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
  const std::vector<std::string> of_a = dimension_labels(equation.operands[0]);
  const std::vector<std::string> of_b = dimension_labels(equation.operands[1]);
  for (size_t d = 0; d < a.size(); ++d) {
    const bool contracted = equation.operands[1].find(of_a[d][0]) != std::string::npos;
    (contracted ? sizes.k : sizes.m) *= a[d];
  }
  for (size_t d = 0; d < b.size(); ++d) {
    if (equation.operands[0].find(of_b[d][0]) == std::string::npos) sizes.n *= b[d];
  }
  return sizes;
}

}  // namespace shardscope
