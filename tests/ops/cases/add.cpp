#include "engine/ops/equation.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases add_cases() {
  OpCases all;
  all.cases = {{"add", {large::x, large::x}, equation("bse,bse->bse"), {0, 1}},
               {"add", {half(large::x.shape), half({24})}, equation("bse,e->bse"), {0, 1}},
               {"add", {large::x, large::features}, equation("bse,e->bse"), {0, 1}},
               {"add", {large::x, array({6, 24})}, equation("bse,se->bse"), {0, 1}},
               {"add", {large::x, scalar}, equation("bse,->bse"), {0, 1}},
               {"add", {scalar, scalar}, sum_attributes(scalar), {0, 1}},
               {"reduce_sum", {large::x}, equation("bse->se")}};
  all.small_cases = {{"add", {small::x, small::features}, equation("bse,e->bse")},
                     {"add", {small::x, array({8, 16})}, equation("bse,se->bse")},
                     {"add", {small::x, small::x}, equation("bse,bse->bse")},
                     {"reduce_sum", {small::x}, equation("bse->e")},
                     {"reduce_sum", {small::x}, equation("bse->se")},
                     {"reduce_sum", {small::query}, equation("bshd->hd")}};
  all.networks = {
      {"positions", 0,
       [](Graph&, const Linen& m, ValueId x, ValueId) { return m.add_positions(x, "pos_embedding", 0.02); }},
      {"residual", 0,
       [](Graph&, const Linen& m, ValueId x, ValueId) { return m.residual(m.child("Norm_0").layer_norm(x), x); }}};
  return all;
}

}  // namespace shardscope::test
