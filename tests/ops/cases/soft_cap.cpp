#include "engine/ops/soft_cap.h"
#include "tests/ops/attribute_values.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

std::vector<Attributes> soft_cap_variants() {
  const SoftCapAttributes made{30};
  [[maybe_unused]] const auto& [cap] = made;
  return {made, SoftCapAttributes{next(30)}};
}

}  // namespace

OpCases soft_cap_cases() {
  OpCases all;
  all.cases = {{"soft_cap", {large::x}, SoftCapAttributes{0.5}, {0}},
               {"soft_cap_grad", {large::x, large::x}, SoftCapAttributes{3}}};
  all.small_cases = {{"soft_cap", {small::x}, SoftCapAttributes{0.4}},
                     {"soft_cap_grad", {small::x, small::x}, SoftCapAttributes{2}}};
  all.networks = {{"soft_cap", 0, behind_dense("soft_cap", SoftCapAttributes{0.8})}};
  all.attributes = {soft_cap_variants()};
  return all;
}

}  // namespace shardscope::test
