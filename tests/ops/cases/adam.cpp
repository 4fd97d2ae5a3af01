#include "engine/ops/adam.h"
#include "tests/ops/attribute_values.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

std::vector<Attributes> adam_variants() {
  const AdamAttributes a{};
  [[maybe_unused]] const auto& [rate, b1, b2, eps, decay] = a;
  return {a,
          AdamAttributes{next(rate.value), b1, b2, eps},
          AdamAttributes{rate, next(b1), b2, eps},
          AdamAttributes{rate, b1, next(b2), eps},
          AdamAttributes{rate, b1, b2, next(eps)},
          AdamAttributes{rate, b1, b2, eps, decay + 1e-4}};
}

}  // namespace

OpCases adam_cases() {
  OpCases all;
  all.cases = {{"adam", {large::x, large::x, large::x, large::x}, AdamAttributes{}}};
  all.small_cases = {{"adam", {array({8, 16}), array({8, 16}), array({8, 16}), array({8, 16})}, AdamAttributes{}},
                     {"adam",
                      {small::features, small::features, small::features, small::features},
                      AdamAttributes{0.1, 0.9, 0.999, 1e-8, 0.2}}};
  all.ranges = {{"adam", 3, 8, 16}};
  all.attributes = {adam_variants()};
  return all;
}

}  // namespace shardscope::test
