#include "engine/ops/scale.h"
#include "engine/ops/equation.h"
#include "tests/ops/attribute_values.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

ValueId two_losses(Graph& graph, ValueId logits, ValueId labels) {
  const ValueId small = append(graph, "scale", {squared_error(graph, logits, labels)}, ScaleAttributes{0.3});
  const ValueId other = weighted_cross_entropy(graph, logits, labels);
  return append(graph, "add", {small, other}, sum_attributes(graph.type(small)));
}

std::vector<Attributes> scale_variants() {
  const ScaleAttributes a{0.1};
  [[maybe_unused]] const auto& [factor] = a;
  return {a, ScaleAttributes{next(factor)}, ScaleAttributes{-factor}};
}

}  // namespace

OpCases scale_cases() {
  OpCases all;
  all.cases = {{"scale", {large::x}, ScaleAttributes{3}, {0}}, {"scale", {scalar}, ScaleAttributes{3}, {0}}};
  all.small_cases = {{"scale", {small::x}, ScaleAttributes{-2.5}}};
  all.networks = {{"sum of two losses", 0, no_layer, two_losses}};
  all.attributes = {scale_variants()};
  return all;
}

}  // namespace shardscope::test
