#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases relu_cases() {
  OpCases all;
  all.cases = {{"relu", {large::x}, {}, {0}}, {"relu_grad", {large::x, large::x}}};
  all.small_cases = {{"relu", {small::x}}, {"relu_grad", {small::x, small::x}}};
  all.networks = {{"relu", 0, behind_dense("relu")}};
  return all;
}

}  // namespace shardscope::test
