#include "engine/ops/scale.h"
#include "engine/ops/stated_op.h"

namespace shardscope {

namespace {

// (x, y, d loss) -> d x = 2 (x - y) scale d loss.
const StatedOp squared_error_grad({.name = "squared_error_grad",
                                   .work_kind = "losses",
                                   .equation = "A,A,->A",
                                   .flops = 3,
                                   .in_place = {0},
                                   .require = require_attributes<ScaleAttributes>});

void squared_error_gradient(GradientContext& context) {
  const Op op = context.graph.ops[context.op];
  context.operand_cotangents[0] = context.append_value(
      squared_error_grad, {op.inputs[0], op.inputs[1], context.result_cotangents[0]}, op.attributes);
  context.operand_cotangents[1] = GradientContext::none;
}

// (x, y) -> sum of (x - y)^2 x `scale` (1 / elements: jnp.mean((x - y) ** 2)); a partial sum where anything is split.
// The target y has no gradient.
const StatedOp squared_error({.name = "squared_error",
                              .work_kind = "losses",
                              .equation = "A,A->",
                              .flops = 3,
                              .require = require_attributes<ScaleAttributes>,
                              .gradient = squared_error_gradient});

}  // namespace

std::vector<const OpDefinition*> squared_error_ops() { return {&squared_error, &squared_error_grad}; }

}  // namespace shardscope
