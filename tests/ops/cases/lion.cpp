#include "engine/ops/lion.h"
#include "tests/ops/attribute_values.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

std::vector<Attributes> lion_variants() {
  const LionAttributes a{};
  [[maybe_unused]] const auto& [rate, b1, b2, decay] = a;
  return {a, LionAttributes{next(rate.value), b1, b2, decay}, LionAttributes{rate, next(b1), b2, decay},
          LionAttributes{rate, b1, next(b2), decay}, LionAttributes{rate, b1, b2, next(decay)}};
}

}  // namespace

OpCases lion_cases() {
  OpCases all;
  all.cases = {{"lion", {large::x, large::x, large::x}, LionAttributes{}}};
  all.small_cases = {{"lion", {array({8, 16}), array({8, 16}), array({8, 16})}, LionAttributes{0.1, 0.9, 0.99, 0.2}}};
  all.attributes = {lion_variants()};
  return all;
}

}  // namespace shardscope::test
