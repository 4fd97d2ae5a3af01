#include "engine/ops/layer_norm.h"
#include "engine/ops/stated_op.h"
#include "engine/ops/workspace.h"

namespace shardscope {

namespace {

// Division by the root mean square over the last dimension z (B. Zhang and R. Sennrich, 2019), cut like layer_norm so
// that z can be split: y = gamma x r with r = rsqrt(squares / features + epsilon), squares the sum of x^2 over z.

// x -> sum of x^2.
const StatedOp squares(
    {.name = "rms_norm_squares", .work_kind = "norms", .equation = "Rz->R", .flops = 2, .stops_gradient = true});

// (dy, x, gamma) -> sum of dy gamma x.
const StatedOp grad_product(
    {.name = "rms_norm_grad_product", .work_kind = "norms", .equation = "Rz,Rz,z->R", .flops = 3});

// (dy, x, gamma, squares, the sum of grad_product) -> dx = r dy gamma - x r^3 / features product.
const StatedOp rms_grad_input({.name = "rms_norm_grad_input",
                               .work_kind = "norms",
                               .equation = "Rz,Rz,z,R,R->Rz",
                               .flops = 4,
                               .in_place = {0},
                               .require = require_attributes<LayerNormAttributes>});

// (dy, x, squares) -> d gamma, summed over the rows.
const StatedOp grad_scale({.name = "rms_norm_grad_scale",
                           .work_kind = "norms",
                           .equation = "Rz,Rz,R->z",
                           .flops = 3,
                           .require = require_attributes<LayerNormAttributes>,
                           .workspace = row_sums_workspace_bytes});

// The squares are a function of x too: their part of dx is inside rms_norm_grad_input, so they get no cotangent.
void rms_norm_gradient(GradientContext& context) {
  const Op op = context.graph.ops[context.op];
  const ValueId x = op.inputs[0], gamma = op.inputs[1], sums = op.inputs[2], dy = context.result_cotangents[0];
  context.operand_cotangents[1] = context.append_value(grad_scale, {dy, x, sums}, op.attributes);
  const ValueId product = context.append_value(grad_product, {dy, x, gamma});
  context.operand_cotangents[2] = GradientContext::none;
  context.operand_cotangents[0] = context.append_value(rms_grad_input, {dy, x, gamma, sums, product}, op.attributes);
}

// (x, gamma, squares) -> y.
const StatedOp rms_norm({.name = "rms_norm",
                         .work_kind = "norms",
                         .equation = "Rz,z,R->Rz",
                         .flops = 2,
                         .require = require_attributes<LayerNormAttributes>,
                         .gradient = rms_norm_gradient});

}  // namespace

std::vector<const OpDefinition*> rms_norm_ops() {
  return {&squares, &rms_norm, &grad_product, &rms_grad_input, &grad_scale};
}

}  // namespace shardscope
