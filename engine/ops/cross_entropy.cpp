#include "engine/ops/scale.h"
#include "engine/ops/stated_op.h"

namespace shardscope {

namespace {

// optax.softmax_cross_entropy_with_integer_labels over the last dimension v, and accuracy, cut so that v can be split
// and no logits move: what needs all of v are three small arrays of one number a row, partial when v is split.
//
//   row_max             logits -> top                                      (partial maximum)
//   cross_entropy_terms logits, labels, top -> exp_sum, label_logit, first (partial sum, sum, maximum)
//   cross_entropy       top, exp_sum, label_logit, first, labels [, weights] -> loss, accuracy
//
// Loss and accuracy are sums over the rows of weight x value x `scale` (1 / rows for a mean), so that splitting rows
// leaves them partial sums. A label outside the vocabulary makes the loss NaN.

// The largest logit of each row. The loss does not depend on it but for rounding.
const StatedOp row_max({.name = "row_max",
                        .work_kind = "reductions",
                        .equation = "Rv->R",
                        .flops = 1,
                        .reductions = {Reduction::max},
                        .stops_gradient = true});

// (logits, labels, d exp_sum, d label_logit, top) -> d logits = exp(logits - top) d exp_sum + onehot d label_logit.
const StatedOp terms_grad({.name = "cross_entropy_terms_grad",
                           .work_kind = "losses",
                           .equation = "Rv,R,R,R,R->Rv",
                           .flops = 8,
                           .types = "fif->f",
                           .in_place = {0}});

void terms_gradient(GradientContext& context) {
  const Op op = context.graph.ops[context.op];
  context.operand_cotangents[0] = context.append_value(
      terms_grad,
      {op.inputs[0], op.inputs[1], context.result_cotangents[0], context.result_cotangents[1], op.inputs[2]});
  context.operand_cotangents[2] = GradientContext::none;
}

// exp_sum: sum of exp(logit - top). label_logit: the label's logit, 0 on devices that do not hold it. first: minus the
// smallest index of a logit that equals top, i32; the least i32 on devices that hold none.
const StatedOp terms({.name = "cross_entropy_terms",
                      .work_kind = "losses",
                      .equation = "Rv,R,R->R,R,R",
                      .flops = 8,
                      .types = "fif->ffi",
                      .reductions = {Reduction::sum, Reduction::sum, Reduction::max},
                      .gradient = terms_gradient});

Labels with_weights(std::vector<std::string> operands, std::vector<std::string> results, bool weighted) {
  if (weighted) operands.push_back(operands[0]);
  return {std::move(operands), std::move(results), "", false};
}

Labels cross_entropy_grad_labels(const Attributes&, std::span<const TensorType> operands) {
  const std::string r = elementwise_labels(operands.empty() ? 0 : operands[0].shape.size());
  return with_weights({r, ""}, {r, r}, operands.size() == 3);
}

// (exp_sum, d loss [, weights]) -> (d exp_sum, d label_logit).
const StatedOp cross_entropy_grad({.name = "cross_entropy_grad",
                                   .work_kind = "losses",
                                   .flops = 3,
                                   .require = require_attributes<ScaleAttributes>,
                                   .labels = cross_entropy_grad_labels});

Labels cross_entropy_labels(const Attributes&, std::span<const TensorType> operands) {
  const std::string r = elementwise_labels(operands.empty() ? 0 : operands[0].shape.size());
  return with_weights({r, r, r, r, r}, {"", ""}, operands.size() == 6);
}

void cross_entropy_gradient(GradientContext& context) {
  const Op op = context.graph.ops[context.op];
  std::vector<ValueId> inputs{op.inputs[1], context.result_cotangents[0]};
  if (op.inputs.size() == 6) inputs.push_back(op.inputs[5]);
  const OpId grad = context.append(cross_entropy_grad, inputs, op.attributes);
  context.operand_cotangents.assign(op.inputs.size(), GradientContext::none);
  context.operand_cotangents[1] = context.graph.ops[grad].outputs[0];
  context.operand_cotangents[2] = context.graph.ops[grad].outputs[1];
}

// (top, exp_sum, label_logit, first, labels [, weights]) -> (loss, accuracy).
const StatedOp cross_entropy({.name = "cross_entropy",
                              .work_kind = "losses",
                              .flops = 6,
                              .types = "fffiif->f",
                              .require = require_attributes<ScaleAttributes>,
                              .labels = cross_entropy_labels,
                              .gradient = cross_entropy_gradient});

}  // namespace

std::vector<const OpDefinition*> cross_entropy_ops() {
  return {&row_max, &terms, &cross_entropy, &terms_grad, &cross_entropy_grad};
}

}  // namespace shardscope
