#include "engine/ops/layer_norm.h"

#include <fmt/format.h>

#include "engine/ops/stated_op.h"
#include "engine/ops/workspace.h"

namespace shardscope {

std::string to_string(const LayerNormAttributes& a) {
  return fmt::format("epsilon={}, features={}", a.epsilon, a.features);
}

namespace {

// Layer normalisation over the last dimension e, cut so that e can be split: the sums over e are results of their own
// (partial when e is split), everything else is elementwise. flax.linen.LayerNorm with fast variance:
// mean = E[x], var = max(0, E[x^2] - mean^2), y = (x - mean) rsqrt(var + epsilon) scale + bias.

// x -> (sum of x, sum of x^2) over e.
const StatedOp moments(
    {.name = "layer_norm_moments", .work_kind = "norms", .equation = "Rz->R,R", .flops = 3, .stops_gradient = true});

// (dy, x, sum, sum of squares, scale) -> sums over e of dy scale and dy scale xhat.
const StatedOp grad_moments({.name = "layer_norm_grad_moments",
                             .work_kind = "norms",
                             .equation = "Rz,Rz,R,R,z->R,R",
                             .flops = 6,
                             .require = require_attributes<LayerNormAttributes>});

// (dy, x, sum, sum of squares, scale, the two sums of grad_moments) -> dx.
const StatedOp grad_input({.name = "layer_norm_grad_input",
                           .work_kind = "norms",
                           .equation = "Rz,Rz,R,R,z,R,R->Rz",
                           .flops = 8,
                           .in_place = {0},
                           .require = require_attributes<LayerNormAttributes>});

// (dy, x, sum, sum of squares) -> (d scale, d bias), summed over the rows.
const StatedOp grad_parameters({.name = "layer_norm_grad_parameters",
                                .work_kind = "norms",
                                .equation = "Rz,Rz,R,R->z,z",
                                .flops = 5,
                                .require = require_attributes<LayerNormAttributes>,
                                .workspace = row_sums_workspace_bytes});

// The sums are functions of x too: their part of dx is inside layer_norm_grad_input, so they get no cotangent.
void layer_norm_gradient(GradientContext& context) {
  const Op op = context.graph.ops[context.op];
  ValueId x = op.inputs[0], sum = op.inputs[1], squares = op.inputs[2], scale = op.inputs[3];
  ValueId dy = context.result_cotangents[0];
  OpId parameters = context.append(grad_parameters, {dy, x, sum, squares}, op.attributes);
  context.operand_cotangents[3] = context.graph.ops[parameters].outputs[0];
  context.operand_cotangents[4] = context.graph.ops[parameters].outputs[1];
  OpId sums = context.append(grad_moments, {dy, x, sum, squares, scale}, op.attributes);
  ValueId g1 = context.graph.ops[sums].outputs[0], g2 = context.graph.ops[sums].outputs[1];
  context.operand_cotangents[1] = context.operand_cotangents[2] = GradientContext::none;
  context.operand_cotangents[0] = context.append_value(grad_input, {dy, x, sum, squares, scale, g1, g2}, op.attributes);
}

// (x, sum, sum of squares, scale, bias) -> y.
const StatedOp layer_norm({.name = "layer_norm",
                           .work_kind = "norms",
                           .equation = "Rz,R,R,z,z->Rz",
                           .flops = 5,
                           .require = require_attributes<LayerNormAttributes>,
                           .gradient = layer_norm_gradient});

}  // namespace

std::vector<const OpDefinition*> layer_norm_ops() {
  return {&moments, &layer_norm, &grad_moments, &grad_input, &grad_parameters};
}

}  // namespace shardscope
