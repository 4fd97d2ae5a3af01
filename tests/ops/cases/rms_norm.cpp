#include "engine/ops/layer_norm.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

// Behind a layer, so that x has a gradient to pass on.
ValueId rms_norm(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const ValueId gamma = parameter(graph, "gamma", {width}), y = square_dense(m, x);
  return append(graph, "rms_norm", {y, gamma, append(graph, "rms_norm_squares", {y})},
                LayerNormAttributes{1e-6, width});
}

}  // namespace

OpCases rms_norm_cases() {
  const LayerNormAttributes large_norm{1e-6, 24}, norm{1e-6, 16};
  OpCases all;
  all.cases = {{"rms_norm_squares", {large::x}},
               {"rms_norm", {large::x, large::features, large::row}, large_norm, {0, 1}},
               {"rms_norm_grad_product", {large::x, large::x, large::features}},
               {"rms_norm_grad_input", {large::x, large::x, large::features, large::row, large::row}, large_norm},
               {"rms_norm_grad_scale", {large::x, large::x, large::row}, large_norm}};
  all.small_cases = {{"rms_norm_squares", {small::x}},
                     {"rms_norm", {small::x, small::features, small::row}, norm},
                     {"rms_norm_grad_product", {small::x, small::x, small::features}},
                     {"rms_norm_grad_input", {small::x, small::x, small::features, small::row, small::row}, norm},
                     {"rms_norm_grad_scale", {small::x, small::x, small::row}, norm}};
  all.networks = {{"rms_norm", 0, rms_norm}};
  all.ranges = {{"rms_norm", 2, 8, 16}, {"rms_norm_grad_input", 3, 8, 16}, {"rms_norm_grad_scale", 2, 8, 16}};
  return all;
}

}  // namespace shardscope::test
