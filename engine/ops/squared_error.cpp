#include "engine/ops/labelled_op.h"
#include "engine/ops/scale.h"

namespace shardscope {

namespace {

// (x, y, d loss) -> d x = 2 (x - y) scale d loss.
class SquaredErrorGrad : public LabelledOp {
 public:
  std::string_view name() const override { return "squared_error_grad"; }
  std::string_view work_kind() const override { return "losses"; }
  int in_place_operand(int) const override { return 0; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<ScaleAttributes>();
    Labels labels = elementwise(operands, 2, 1);
    labels.operands.push_back("");
    return labels;
  }
  double flops_per_element() const override { return 3; }
};

const SquaredErrorGrad squared_error_grad;

// (x, y) -> sum of (x - y)^2 x `scale` (1 / elements: jnp.mean((x - y) ** 2)); a partial sum where anything is split.
// The target y has no gradient.
class SquaredError : public LabelledOp {
 public:
  std::string_view name() const override { return "squared_error"; }
  std::string_view work_kind() const override { return "losses"; }

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    context.operand_cotangents[0] = context.append_value(
        squared_error_grad, {op.inputs[0], op.inputs[1], context.result_cotangents[0]}, op.attributes);
    context.operand_cotangents[1] = GradientContext::none;
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<ScaleAttributes>();
    Labels labels = elementwise(operands, 2, 1);
    labels.results[0].clear();
    return labels;
  }
  double flops_per_element() const override { return 3; }
};

const SquaredError squared_error;

}  // namespace

std::vector<const OpDefinition*> squared_error_ops() { return {&squared_error, &squared_error_grad}; }

}  // namespace shardscope
