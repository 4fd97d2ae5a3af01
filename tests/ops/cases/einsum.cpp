#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

std::vector<Attributes> equation_variants() {
  const EquationAttributes a{"bs(hd)->bshd", {{'h', 8}}};
  [[maybe_unused]] const auto& [equation, sizes, wide] = a;
  return {a,
          EquationAttributes{equation, {{'h', 4}}},
          EquationAttributes{equation, {{'d', 8}}},
          EquationAttributes{equation, {}},
          EquationAttributes{equation, sizes, true},
          EquationAttributes{equation, {{'h', 8}, {'d', 4}}},
          EquationAttributes{"bs(dh)->bshd", sizes},
          EquationAttributes{"bs(hd)->bsdh", sizes},
          EquationAttributes{"bs,(hd)->bshd", sizes},
          EquationAttributes{"bs(hd),->bshd", sizes}};
}

}  // namespace

OpCases einsum_cases() {
  OpCases all;
  all.cases = {{"einsum", {large::x, array({24, 12})}, equation("bse,ef->bsf"), {0, 1}},
               {"einsum", {half(large::x.shape), half({24, 12})}, equation("bse,ef->bsf"), {0, 1}},
               {"einsum", {large::x, array({24, 6, 12})}, equation("bse,ehd->bshd"), {0, 1}},
               {"einsum", {large::query, array({12, 24, 18})}, equation("bshd,hde->bse"), {0, 1}},
               {"einsum", {large::x, large::x}, equation("bse,bsf->ef")}};
  all.small_cases = {{"einsum", {small::x, array({16, 4, 12})}, equation("bse,ehd->bshd")},
                     {"einsum", {small::query, array({4, 12, 16})}, equation("bshd,hde->bse")},
                     {"einsum", {small::query, array({16, 4, 12})}, equation("bshd,ehd->bse")},
                     {"einsum", {small::x, small::query}, equation("bse,bshd->ehd")},
                     {"einsum", {small::x, array({48, 16})}, equation("bse,(hd)e->bshd", {{'h', 4}})},
                     {"einsum", {small::query, array({16, 48})}, equation("bshd,e(hd)->bse", {{'h', 4}})},
                     {"einsum", {small::x, small::query}, equation("bse,bshd->(hd)e", {{'h', 4}})}};
  all.networks = {{"dense", 0, dense_layer}};
  all.attributes = {equation_variants()};
  return all;
}

}  // namespace shardscope::test
