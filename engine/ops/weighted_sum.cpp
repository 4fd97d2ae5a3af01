#include "engine/ops/stated_op.h"

namespace shardscope {

namespace {

// (slots (b, s, k, d), weights (b, s, k), d y (b, s, d)) -> (d slots, d weights).
const StatedOp weighted_sum_grad(
    {.name = "weighted_sum_grad", .work_kind = "reductions", .equation = "bskd,bsk,bsd->bskd,bsk", .flops = 3});

void weighted_sum_gradient(GradientContext& context) {
  const Op op = context.graph.ops[context.op];
  const OpId grad = context.append(weighted_sum_grad, {op.inputs[0], op.inputs[1], context.result_cotangents[0]});
  context.operand_cotangents = context.graph.ops[grad].outputs;
}

// (slots (b, s, k, d), weights (b, s, k)) -> the sums over k of weight times slot (b, s, d).
const StatedOp weighted_sum({.name = "weighted_sum",
                             .work_kind = "reductions",
                             .equation = "bskd,bsk->bsd",
                             .flops = 2,
                             .gradient = weighted_sum_gradient});

}  // namespace

std::vector<const OpDefinition*> weighted_sum_ops() { return {&weighted_sum, &weighted_sum_grad}; }

}  // namespace shardscope
