#include "engine/ops/layer_norm.h"
#include "tests/ops/attribute_values.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

std::vector<Attributes> layer_norm_variants() {
  const LayerNormAttributes a{1e-6, 16};
  [[maybe_unused]] const auto& [epsilon, features] = a;
  return {a, LayerNormAttributes{next(epsilon), features}, LayerNormAttributes{epsilon, 17}};
}

}  // namespace

OpCases layer_norm_cases() {
  const LayerNormAttributes large_norm{1e-6, 24}, norm{1e-6, 16};
  OpCases all;
  all.cases = {
      {"layer_norm_moments", {large::x}},
      {"layer_norm", {large::x, large::row, large::row, large::features, large::features}, large_norm, {0, 3, 4}},
      {"layer_norm_grad_moments", {large::x, large::x, large::row, large::row, large::features}, large_norm},
      {"layer_norm_grad_input",
       {large::x, large::x, large::row, large::row, large::features, large::row, large::row},
       large_norm},
      {"layer_norm_grad_parameters", {large::x, large::x, large::row, large::row}, large_norm}};
  all.small_cases = {{"layer_norm_moments", {small::x}},
                     {"layer_norm", {small::x, small::row, small::row, small::features, small::features}, norm},
                     {"layer_norm_grad_moments", {small::x, small::x, small::row, small::row, small::features}, norm},
                     {"layer_norm_grad_input",
                      {small::x, small::x, small::row, small::row, small::features, small::row, small::row},
                      norm},
                     {"layer_norm_grad_parameters", {small::x, small::x, small::row, small::row}, norm}};
  all.networks = {{"layer_norm", 0, [](Graph&, const Linen& m, ValueId x, ValueId) { return m.layer_norm(x); }}};
  all.ranges = {{"layer_norm", 2, 8, 16},
                {"layer_norm_grad_moments", 3, 8, 16},
                {"layer_norm_grad_input", 3, 8, 16},
                {"layer_norm_grad_parameters", 3, 8, 16}};
  all.attributes = {layer_norm_variants()};
  return all;
}

}  // namespace shardscope::test
