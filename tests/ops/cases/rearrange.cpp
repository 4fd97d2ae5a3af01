#include "engine/ops/equation.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

ValueId through_heads(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const ValueId heads =
      append(graph, "rearrange", {square_dense(m, x)}, EquationAttributes{"bs(hd)->bhsd", {{'h', 2}}});
  return append(graph, "rearrange", {m.gelu(heads)}, EquationAttributes{"bhsd->bs(dh)"});
}

}  // namespace

OpCases rearrange_cases() {
  OpCases all;
  all.cases = {{"rearrange", {large::x}, equation("bs(hd)->bshd", {{'h', 12}}), {0}},
               {"rearrange", {large::query}, equation("bshd->bs(hd)"), {0}},
               {"rearrange", {large::query}, equation("bshd->(bs)(dh)"), {0}},
               {"rearrange", {large::ids}, equation("bs->sb")}};
  all.small_cases = {{"rearrange", {array({4, 8, 48})}, equation("bs(hd)->bshd", {{'h', 4}})},
                     {"rearrange", {array({4, 8, 48})}, equation("bs(hd)->bshd", {{'h', 2}})},
                     {"rearrange", {small::query}, equation("bshd->bs(hd)")},
                     {"rearrange", {small::query}, equation("bshd->bhsd")},
                     {"rearrange", {small::query}, equation("bshd->(bs)(dh)")},
                     {"rearrange", {array({4, 8, 6, 2})}, equation("bhwc->b(hwc)")},
                     {"rearrange", {small::ids}, equation("bs->sb")},
                     {"rearrange", {half({4, 8, 48})}, equation("bs(hd)->bshd", {{'h', 4}})}};
  all.networks = {{"rearrange", 0, through_heads}};
  all.exact = {"rearrange"};
  return all;
}

}  // namespace shardscope::test
