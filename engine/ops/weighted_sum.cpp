#include "engine/ops/labelled_op.h"

namespace shardscope {

namespace {

// (slots (b, s, k, d), weights (b, s, k), d y (b, s, d)) -> (d slots, d weights).
class WeightedSumGrad : public LabelledOp {
 public:
  std::string_view name() const override { return "weighted_sum_grad"; }
  std::string_view work_kind() const override { return "reductions"; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType>) const override {
    return {{"bskd", "bsk", "bsd"}, {"bskd", "bsk"}, "", false};
  }
  double flops_per_element() const override { return 3; }
};

const WeightedSumGrad weighted_sum_grad;

// (slots (b, s, k, d), weights (b, s, k)) -> the sums over k of weight times slot (b, s, d).
class WeightedSum : public LabelledOp {
 public:
  std::string_view name() const override { return "weighted_sum"; }
  std::string_view work_kind() const override { return "reductions"; }

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    const OpId grad = context.append(weighted_sum_grad, {op.inputs[0], op.inputs[1], context.result_cotangents[0]});
    context.operand_cotangents = context.graph.ops[grad].outputs;
  }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType>) const override {
    return {{"bskd", "bsk"}, {"bsd"}, "", false};
  }
  double flops_per_element() const override { return 2; }
};

const WeightedSum weighted_sum;

}  // namespace

std::vector<const OpDefinition*> weighted_sum_ops() { return {&weighted_sum, &weighted_sum_grad}; }

}  // namespace shardscope
