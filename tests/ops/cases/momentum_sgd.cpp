#include "engine/ops/momentum_sgd.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases momentum_sgd_cases() {
  OpCases all;
  all.cases = {{"momentum_sgd", {large::x, large::x, large::x}, MomentumSgdAttributes{}}};
  all.small_cases = {
      {"momentum_sgd", {array({8, 16}), array({8, 16}), array({8, 16})}, MomentumSgdAttributes{}},
      {"momentum_sgd", {small::features, small::features, small::features}, MomentumSgdAttributes{0.1, 0.8, true}}};
  return all;
}

}  // namespace shardscope::test
