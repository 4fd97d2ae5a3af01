#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases gelu_cases() {
  OpCases all;
  all.cases = {{"gelu", {large::x}, {}, {0}}, {"gelu", {array({6, 12})}, {}, {0}}, {"gelu_grad", {large::x, large::x}}};
  all.small_cases = {{"gelu", {small::x}}, {"gelu_grad", {small::x, small::x}}};
  all.networks = {{"gelu", 0, behind_dense("gelu")}};
  return all;
}

}  // namespace shardscope::test
