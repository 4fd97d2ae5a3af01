#include "engine/ops/stack.h"
#include "engine/ops/equation.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

// Two of the three parts are used.
ValueId through_parts(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const ValueId y = square_dense(m, x);
  const ValueId all = append(graph, "stack", {y, m.gelu(y), x}, StackAttributes{1, 3});
  const std::vector<ValueId> made = append_op(graph, "unstack", {all}, StackAttributes{1, 3});
  return append(graph, "add", {made[0], made[1]}, sum_attributes(graph.type(y)));
}

std::vector<Attributes> stack_variants() {
  const StackAttributes a{1, 3};
  [[maybe_unused]] const auto& [dimension, count] = a;
  return {a, StackAttributes{2, count}, StackAttributes{dimension, 4}};
}

}  // namespace

OpCases stack_cases() {
  OpCases all;
  all.cases = {{"stack", {large::x, large::x, large::x}, StackAttributes{2, 3}, {0, 1, 2}},
               {"unstack", {array({12, 6, 3, 24})}, StackAttributes{2, 3}, {0}},
               {"unstack", {half({12, 6, 3, 24})}, StackAttributes{2, 3}, {0}}};
  all.small_cases = {{"stack", {small::x, small::x, small::x}, StackAttributes{2, 3}},
                     {"stack", {small::x, small::x, small::x}, StackAttributes{0, 3}},
                     {"unstack", {array({4, 8, 3, 16})}, StackAttributes{2, 3}},
                     {"unstack", {half({4, 8, 16, 3})}, StackAttributes{3, 3}}};
  all.networks = {{"stack", 0, through_parts}};
  all.attributes = {stack_variants()};
  all.exact = {"stack", "unstack"};
  return all;
}

}  // namespace shardscope::test
