#include "engine/ops/families.h"
#include "engine/ops/labelled_op.h"

namespace shardscope {

namespace {

// (logits, labels, log-sum-exp) -> d logits = (softmax - onehot) * scale.
class CrossEntropyGrad : public LabelledOp {
 public:
  std::string_view name() const override { return "cross_entropy_grad"; }
  int in_place_operand(int) const override { return 0; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType>) const override {
    return {{"bsv", "bs", "bs"}, {"bsv"}, "v", false};
  }
  double flops_per_element() const override { return 8; }
};

const CrossEntropyGrad cross_entropy_grad;

// optax.softmax_cross_entropy_with_integer_labels and accuracy: logits (b, s, v), labels i32 (b, s) -> loss, correct,
// log-sum-exp (b, s). Loss and correct (argmax == label) are summed over rows and multiplied by the attribute `scale`
// (1 / rows for a mean), so that splitting rows leaves them partial.
class CrossEntropy : public LabelledOp {
 public:
  std::string_view name() const override { return "cross_entropy"; }

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    context.operand_cotangents[0] = context.append_value(
        cross_entropy_grad, {op.inputs[0], op.inputs[1], op.outputs[2]}, {{"scale", real(op.attributes, "scale")}});
  }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType>) const override {
    return {{"bsv", "bs"}, {"", "", "bs"}, "v", false};
  }
  double flops_per_element() const override { return 8; }
};

const CrossEntropy cross_entropy;

}  // namespace

std::vector<const OpDefinition*> cross_entropy_ops() { return {&cross_entropy, &cross_entropy_grad}; }

}  // namespace shardscope
