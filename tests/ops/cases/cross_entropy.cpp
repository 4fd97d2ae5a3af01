#include <algorithm>

#include "engine/ops/scale.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

// The largest logit of each row is that of these logits.
void set_row_maxima(const OpCase& one, std::vector<TestArray>& operands) {
  if (!one.op.starts_with("cross_entropy_terms")) return;
  float* top = operands[one.op == "cross_entropy_terms" ? 2 : 4].f32();
  const int64_t columns = one.operands[0].shape.back();
  for (int64_t row = 0; row < element_count(one.operands[1].shape); ++row) {
    const float* logits = operands[0].f32() + row * columns;
    top[row] = *std::max_element(logits, logits + columns);
  }
}

}  // namespace

OpCases cross_entropy_cases() {
  const ScaleAttributes half{0.5}, mean{1.0 / 32};
  const TensorType logits = array({4, 8, 24});
  OpCases all;
  all.cases = {
      {"row_max", {large::x}},
      {"cross_entropy_terms", {large::x, large::ids, large::row}, {}, {0}},
      {"cross_entropy_terms_grad", {large::x, large::ids, large::row, large::row, large::row}},
      {"cross_entropy", {large::row, large::row, large::row, large::ids, large::ids}, half, {1, 2}},
      {"cross_entropy", {large::row, large::row, large::row, large::ids, large::ids, large::row}, half, {1, 2}},
      {"cross_entropy_grad", {large::row, scalar}, half},
      {"cross_entropy_grad", {large::row, scalar, large::row}, half}};
  all.small_cases = {{"row_max", {logits}},
                     {"cross_entropy_terms", {logits, small::ids, small::row}},
                     {"cross_entropy_terms_grad", {logits, small::ids, small::row, small::row, small::row}},
                     {"cross_entropy", {small::row, small::row, small::row, small::ids, small::ids}, mean},
                     {"cross_entropy", {small::row, small::row, small::row, small::ids, small::ids, small::row}, mean},
                     {"cross_entropy_grad", {small::row, scalar}, mean},
                     {"cross_entropy_grad", {small::row, scalar, small::row}, mean}};
  all.networks = {{"weighted cross-entropy", 0, no_layer, weighted_cross_entropy}};
  all.ranges = {{"cross_entropy", 1, 3, 4},
                {"cross_entropy", 3, -2, 0},
                {"cross_entropy", 4, 0, 2},
                {"cross_entropy_grad", 0, 3, 4}};
  all.fit = set_row_maxima;
  all.exact = {"row_max"};
  return all;
}

}  // namespace shardscope::test
