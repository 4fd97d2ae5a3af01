#include "engine/ops/dropout.h"
#include "tests/ops/attribute_values.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

std::vector<Attributes> dropout_variants() {
  std::vector<Attributes> variants;
  for (const DropoutAttributes& one : dropouts()) variants.push_back(one);
  return variants;
}

}  // namespace

OpCases dropout_cases() {
  OpCases all;
  all.cases = {{"dropout", {large::x}, DropoutAttributes{0.5, {{0, 1}, 1, 0, 7}}, {0}}};
  all.small_cases = {{"dropout", {small::x}, DropoutAttributes{0.3, {key_from_seed(7), 1, 0, 12345}}}};
  all.networks = {{"dropout", 0.4, [](Graph&, const Linen& m, ValueId x, ValueId) { return m.dropout(x, 0); }}};
  all.attributes = {dropout_variants()};
  return all;
}

}  // namespace shardscope::test
