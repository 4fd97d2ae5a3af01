#include "engine/ops/stated_op.h"

namespace shardscope {

namespace {

// The gradient: (logits, d sums (e)) -> d logits.
const StatedOp expert_probability_grad({.name = "expert_probability_grad",
                                        .work_kind = "reductions",
                                        .equation = "bse,e->bse",
                                        .whole = "e",
                                        .flops = 14});

void expert_probability_gradient(GradientContext& context) {
  const Op op = context.graph.ops[context.op];
  context.operand_cotangents[0] =
      context.append_value(expert_probability_grad, {op.inputs[0], context.result_cotangents[0]});
}

// logits (b, s, e) -> (e): of each expert the sum of its probabilities, softmax over e, over all tokens.
const StatedOp expert_probability({.name = "expert_probability",
                                   .work_kind = "reductions",
                                   .equation = "bse->e",
                                   .whole = "e",
                                   .flops = 12,
                                   .gradient = expert_probability_gradient});

}  // namespace

std::vector<const OpDefinition*> expert_probability_ops() { return {&expert_probability, &expert_probability_grad}; }

}  // namespace shardscope
