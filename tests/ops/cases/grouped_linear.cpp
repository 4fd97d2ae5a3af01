#include "engine/ops/grouped_linear.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

std::vector<Attributes> grouped_linear_variants() {
  const GroupedLinearAttributes made{false, 0.5};
  [[maybe_unused]] const auto& [transposed, filled, wide] = made;
  return {made, GroupedLinearAttributes{true, 0.5}, GroupedLinearAttributes{false, 0.25},
          GroupedLinearAttributes{false, 0.5, true}};
}

}  // namespace

OpCases grouped_linear_cases() {
  const TensorType many_sent = array({18, 2, 18, 24}), many_counts = tokens({18, 2, 6});
  const TensorType sent = array({8, 2, 16, 12}), counts = tokens({8, 2, 2});
  OpCases all;
  all.cases = {
      {"grouped_linear", {many_sent, many_counts, array({12, 6, 24})}, GroupedLinearAttributes{}, {0, 2}},
      {"grouped_linear", {many_sent, many_counts, array({12, 24, 6})}, GroupedLinearAttributes{true, 0.5}, {0, 2}},
      {"grouped_linear", {half(many_sent.shape), many_counts, half({12, 6, 24})}, GroupedLinearAttributes{}, {0, 2}},
      {"grouped_linear_grad", {many_sent, many_counts, array({18, 2, 18, 6})}, GroupedLinearAttributes{}}};
  all.small_cases = {{"grouped_linear", {sent, counts, array({4, 24, 12})}, GroupedLinearAttributes{}},
                     {"grouped_linear", {sent, counts, array({4, 12, 24})}, GroupedLinearAttributes{true, 1}},
                     {"grouped_linear_grad", {sent, counts, array({8, 2, 16, 4})}, GroupedLinearAttributes{}}};
  all.largest_integer = 3;
  all.attributes = {grouped_linear_variants()};
  return all;
}

}  // namespace shardscope::test
