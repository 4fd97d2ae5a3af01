#include "engine/ops/expert_linear.h"
#include "engine/ops/top_k.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

// Four experts, two of them for each position.
Layer experts(TopKAttributes choice) {
  return [=](Graph& graph, const Linen& m, ValueId x, ValueId) {
    const ExpertLinearAttributes four{4, false};
    const ValueId logits = m.child("router").dense(x, "bse,ef->bsf", {width, 4}, {"embed", "experts"});
    const std::vector<ValueId> made = append_op(graph, "top_k", {logits}, choice);
    const ValueId up = parameter(graph, "up", {4, width, width}), down = parameter(graph, "down", {4, width, width});
    const ValueId inner = append(graph, "expert_linear", {square_dense(m, x), made[0], up}, four);
    const ValueId chosen = append(graph, "expert_linear", {m.gelu(inner), made[0], down}, four);
    return append(graph, "weighted_sum", {chosen, made[1]});
  };
}

std::vector<Attributes> expert_linear_variants() {
  const ExpertLinearAttributes made{4, false};
  [[maybe_unused]] const auto& [experts, transposed, wide] = made;
  return {made, ExpertLinearAttributes{5, false}, ExpertLinearAttributes{4, true},
          ExpertLinearAttributes{4, false, true}};
}

}  // namespace

OpCases expert_linear_cases() {
  OpCases all;
  all.cases = {
      {"expert_linear", {large::x, large::choices, array({12, 18, 24})}, ExpertLinearAttributes{12, false}, {0, 2}},
      {"expert_linear",
       {half(large::x.shape), large::choices, half({12, 18, 24})},
       ExpertLinearAttributes{12, false},
       {0, 2}},
      {"expert_linear_grad", {large::x, large::choices, array({12, 6, 6, 18})}, ExpertLinearAttributes{12, false}}};
  all.small_cases = {
      {"expert_linear", {small::x, small::choices, array({4, 24, 16})}, ExpertLinearAttributes{4, false}},
      {"expert_linear", {small::query, small::choices, array({4, 24, 12})}, ExpertLinearAttributes{4, false}},
      {"expert_linear", {small::query, small::choices, array({4, 12, 24})}, ExpertLinearAttributes{4, true}},
      {"expert_linear_grad", {small::x, small::choices, small::query}, ExpertLinearAttributes{4, false}},
      {"expert_linear_grad", {small::query, small::choices, small::query}, ExpertLinearAttributes{4, false}},
      {"expert_linear_grad", {small::query, small::choices, small::x}, ExpertLinearAttributes{4, false}},
      {"expert_linear", {small::x, small::choices, array({4, 16, 12})}, ExpertLinearAttributes{4, true}}};
  all.networks = {
      {"experts", 0, experts({.k = 2})},
      {"experts, normalised", 0, experts({.k = 2, .normalise = true, .scale = 1.5})},
      {"experts by sigmoids", 0, experts({.score = TopKAttributes::Score::sigmoid, .k = 2, .normalise = true})}};
  all.largest_integer = 3;
  all.attributes = {expert_linear_variants()};
  all.sized_by_attributes = {"expert_linear", "expert_linear_grad"};
  return all;
}

}  // namespace shardscope::test
