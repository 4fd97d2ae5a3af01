#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases gelu_exact_cases() {
  OpCases all;
  all.cases = {{"gelu_exact", {large::x}, {}, {0}}, {"gelu_exact_grad", {large::x, large::x}}};
  all.small_cases = {{"gelu_exact", {small::x}}, {"gelu_exact_grad", {small::x, small::x}}};
  all.networks = {{"gelu_exact", 0, behind_dense("gelu_exact")}};
  return all;
}

}  // namespace shardscope::test
