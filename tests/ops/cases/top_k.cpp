#include "engine/ops/top_k.h"
#include "tests/ops/attribute_values.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

// Different choices in each row.
void spread_choices(const OpCase& one, std::vector<TestArray>& operands) {
  if (one.op != "top_k_grad") return;
  const int64_t k = one.operands[1].shape[2], experts = one.operands[0].shape[2];
  for (int64_t i = 0; i < element_count(one.operands[1].shape); ++i) {
    operands[1].i32()[i] = static_cast<int32_t>((i / k + i % k * (experts / k)) % experts);
  }
}

std::vector<Attributes> top_k_variants() {
  using Score = TopKAttributes::Score;
  const TopKAttributes made{Score::softmax, 2, false, 1, 1, 1};
  [[maybe_unused]] const auto& [score, k, normalise, scale, groups, chosen] = made;
  return {made,
          TopKAttributes{Score::sigmoid, 2, false, 1, 1, 1},
          TopKAttributes{Score::softmax, 3, false, 1, 1, 1},
          TopKAttributes{Score::softmax, 2, true, 1, 1, 1},
          TopKAttributes{Score::softmax, 2, false, next(1), 1, 1},
          TopKAttributes{Score::softmax, 2, false, 1, 2, 1},
          TopKAttributes{Score::softmax, 2, false, 1, 2, 2}};
}

}  // namespace

OpCases top_k_cases() {
  const TopKAttributes sigmoid_choice{.score = TopKAttributes::Score::sigmoid,
                                      .k = 4,
                                      .normalise = true,
                                      .scale = 2.5,
                                      .groups = 4,
                                      .chosen_groups = 2};
  OpCases all;
  all.cases = {{"top_k", {large::x}, TopKAttributes{.k = 6}, {0}},
               {"top_k", {large::x, large::features}, TopKAttributes{.k = 6}, {0}},
               {"top_k_grad", {large::x, large::choices, array({12, 6, 6})}, TopKAttributes{.k = 6}}};
  all.small_cases = {{"top_k", {small::x}, TopKAttributes{.k = 2}},
                     {"top_k", {small::x, small::features}, TopKAttributes{.k = 3, .normalise = true, .scale = 2.5}},
                     {"top_k", {small::x, small::features}, sigmoid_choice},
                     {"top_k_grad", {small::x, small::choices, array({4, 8, 4})}, TopKAttributes{.k = 4}},
                     {"top_k_grad",
                      {small::x, small::choices, array({4, 8, 4})},
                      TopKAttributes{.k = 4, .normalise = true, .scale = 1.5}},
                     {"top_k_grad", {small::x, small::choices, array({4, 8, 4})}, sigmoid_choice}};
  all.fit = spread_choices;
  all.attributes = {top_k_variants()};
  return all;
}

}  // namespace shardscope::test
