#include "engine/ops/equation.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

// A dense layer plus the sums of its rows' probabilities.
ValueId balanced(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const ValueId logits = square_dense(m, x), sums = append(graph, "expert_probability", {logits});
  return append(graph, "add", {logits, sums}, EquationAttributes{Equation({"bse", "e"}, "bse")});
}

}  // namespace

OpCases expert_probability_cases() {
  OpCases all;
  all.cases = {{"expert_probability", {large::x}, {}, {0}}, {"expert_probability_grad", {large::x, large::features}}};
  all.small_cases = {{"expert_probability", {small::x}}, {"expert_probability_grad", {small::x, small::features}}};
  all.networks = {{"probabilities of experts", 0, balanced}};
  return all;
}

}  // namespace shardscope::test
