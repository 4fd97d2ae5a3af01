#include "engine/ops/labelled_op.h"
#include "engine/ops/scale.h"

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
class RowMax : public LabelledOp {
 public:
  std::string_view name() const override { return "row_max"; }
  std::string_view work_kind() const override { return "reductions"; }
  bool stops_gradient() const override { return true; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType> operands) const override {
    return {{row_labels(operands) + "v"}, {row_labels(operands)}, "", false, {Reduction::max}};
  }
  double flops_per_element() const override { return 1; }
};

const RowMax row_max;

// (logits, labels, d exp_sum, d label_logit, top) -> d logits = exp(logits - top) d exp_sum + onehot d label_logit.
class TermsGrad : public LabelledOp {
 public:
  std::string_view name() const override { return "cross_entropy_terms_grad"; }
  std::string_view work_kind() const override { return "losses"; }
  int in_place_operand(int) const override { return 0; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType> operands) const override {
    const std::string r = row_labels(operands);
    return {{r + "v", r, r, r, r}, {r + "v"}, "", false};
  }
  double flops_per_element() const override { return 8; }
  bool takes(int operand, DType dtype) const override { return dtype == (operand == 1 ? DType::i32 : DType::f32); }
};

const TermsGrad terms_grad;

// exp_sum: sum of exp(logit - top). label_logit: the label's logit, 0 on devices that do not hold it. first: minus the
// smallest index of a logit that equals top, i32; the least i32 on devices that hold none.
class Terms : public LabelledOp {
 public:
  std::string_view name() const override { return "cross_entropy_terms"; }
  std::string_view work_kind() const override { return "losses"; }

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    context.operand_cotangents[0] = context.append_value(
        terms_grad,
        {op.inputs[0], op.inputs[1], context.result_cotangents[0], context.result_cotangents[1], op.inputs[2]});
    context.operand_cotangents[2] = GradientContext::none;
  }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType> operands) const override {
    const std::string r = row_labels(operands);
    return {{r + "v", r, r}, {r, r, r}, "", false, {Reduction::sum, Reduction::sum, Reduction::max}};
  }
  double flops_per_element() const override { return 8; }
  bool takes(int operand, DType dtype) const override { return dtype == (operand == 1 ? DType::i32 : DType::f32); }
  DType result_dtype(int result, const Attributes&, std::span<const TensorType>) const override {
    return result == 2 ? DType::i32 : DType::f32;
  }
};

const Terms terms;

Labels with_weights(std::vector<std::string> operands, std::vector<std::string> results, bool weighted) {
  if (weighted) operands.push_back(operands[0]);
  return {std::move(operands), std::move(results), "", false};
}

// (exp_sum, d loss [, weights]) -> (d exp_sum, d label_logit).
class CrossEntropyGrad : public LabelledOp {
 public:
  std::string_view name() const override { return "cross_entropy_grad"; }
  std::string_view work_kind() const override { return "losses"; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<ScaleAttributes>();
    const std::string r = elementwise_labels(operands.empty() ? 0 : operands[0].shape.size());
    return with_weights({r, ""}, {r, r}, operands.size() == 3);
  }
  double flops_per_element() const override { return 3; }
};

const CrossEntropyGrad cross_entropy_grad;

// (top, exp_sum, label_logit, first, labels [, weights]) -> (loss, accuracy).
class CrossEntropy : public LabelledOp {
 public:
  std::string_view name() const override { return "cross_entropy"; }
  std::string_view work_kind() const override { return "losses"; }

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    std::vector<ValueId> inputs{op.inputs[1], context.result_cotangents[0]};
    if (op.inputs.size() == 6) inputs.push_back(op.inputs[5]);
    const OpId grad = context.append(cross_entropy_grad, inputs, op.attributes);
    context.operand_cotangents.assign(op.inputs.size(), GradientContext::none);
    context.operand_cotangents[1] = context.graph.ops[grad].outputs[0];
    context.operand_cotangents[2] = context.graph.ops[grad].outputs[1];
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<ScaleAttributes>();
    const std::string r = elementwise_labels(operands.empty() ? 0 : operands[0].shape.size());
    return with_weights({r, r, r, r, r}, {"", ""}, operands.size() == 6);
  }
  double flops_per_element() const override { return 6; }
  bool takes(int operand, DType dtype) const override {
    return dtype == (operand == 3 || operand == 4 ? DType::i32 : DType::f32);
  }
};

const CrossEntropy cross_entropy;

}  // namespace

std::vector<const OpDefinition*> cross_entropy_ops() {
  return {&row_max, &terms, &cross_entropy, &terms_grad, &cross_entropy_grad};
}

}  // namespace shardscope
