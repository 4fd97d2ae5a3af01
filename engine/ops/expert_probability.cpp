#include "engine/ops/labelled_op.h"

namespace shardscope {

namespace {

// The gradient: (logits, d sums (e)) -> d logits.
class ExpertProbabilityGrad : public LabelledOp {
 public:
  std::string_view name() const override { return "expert_probability_grad"; }
  std::string_view work_kind() const override { return "reductions"; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType>) const override {
    return {{"bse", "e"}, {"bse"}, "e", false};
  }
  double flops_per_element() const override { return 14; }
};

const ExpertProbabilityGrad expert_probability_grad;

// logits (b, s, e) -> (e): of each expert the sum of its probabilities, softmax over e, over all tokens.
class ExpertProbability : public LabelledOp {
 public:
  std::string_view name() const override { return "expert_probability"; }
  std::string_view work_kind() const override { return "reductions"; }
  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    context.operand_cotangents[0] =
        context.append_value(expert_probability_grad, {op.inputs[0], context.result_cotangents[0]});
  }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType>) const override { return {{"bse"}, {"e"}, "e", false}; }
  double flops_per_element() const override { return 12; }
};

const ExpertProbability expert_probability;

}  // namespace

std::vector<const OpDefinition*> expert_probability_ops() { return {&expert_probability, &expert_probability_grad}; }

}  // namespace shardscope
