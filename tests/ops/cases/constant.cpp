#include "engine/ops/constant.h"
#include "tests/ops/attribute_values.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

std::vector<Attributes> constant_variants() {
  std::vector<Attributes> variants;
  for (double value : {0.0, 0.1, next(0.1), -0.1, 1e300}) {
    for (const TensorType& type : different_types()) {
      const ConstantAttributes made{value, type};
      [[maybe_unused]] const auto& [own_value, own_type] = made;
      variants.push_back(made);
    }
  }
  return variants;
}

}  // namespace

OpCases constant_cases() {
  OpCases all;
  all.cases = {{"constant", {}, ConstantAttributes{1, scalar}}, {"constant", {}, ConstantAttributes{2.5, large::x}}};
  all.small_cases = {{"constant", {}, ConstantAttributes{1.5, small::x}}};
  all.attributes = {constant_variants()};
  all.exact = {"constant"};
  all.sized_by_attributes = {"constant"};
  return all;
}

}  // namespace shardscope::test
