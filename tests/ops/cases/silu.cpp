#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

ValueId gated(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const ValueId gate = append(graph, "silu", {square_dense(m.child("gate"), x)});
  return append(graph, "multiply", {gate, square_dense(m.child("up"), x)});
}

}  // namespace

OpCases silu_cases() {
  OpCases all;
  all.cases = {{"silu", {large::x}, {}, {0}}, {"silu_grad", {large::x, large::x}}};
  all.small_cases = {{"silu", {small::x}}, {"silu_grad", {small::x, small::x}}};
  all.networks = {{"silu and multiply", 0, gated}};
  return all;
}

}  // namespace shardscope::test
