#include "engine/ops/momentum_sgd.h"
#include "tests/ops/attribute_values.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

std::vector<Attributes> momentum_sgd_variants() {
  const MomentumSgdAttributes a{0.01, 0.9, false};
  [[maybe_unused]] const auto& [rate, momentum, nesterov] = a;
  return {a, MomentumSgdAttributes{next(rate.value), momentum, nesterov},
          MomentumSgdAttributes{rate, next(momentum), nesterov}, MomentumSgdAttributes{rate, momentum, true}};
}

}  // namespace

OpCases momentum_sgd_cases() {
  OpCases all;
  all.cases = {{"momentum_sgd", {large::x, large::x, large::x}, MomentumSgdAttributes{}}};
  all.small_cases = {
      {"momentum_sgd", {array({8, 16}), array({8, 16}), array({8, 16})}, MomentumSgdAttributes{}},
      {"momentum_sgd", {small::features, small::features, small::features}, MomentumSgdAttributes{0.1, 0.8, true}}};
  all.attributes = {momentum_sgd_variants()};
  return all;
}

}  // namespace shardscope::test
