#include "engine/ops/families.h"
#include "engine/ops/labelled_op.h"

namespace shardscope {

namespace {

class Elementwise : public LabelledOp {
 protected:
  bool takes(int, DType dtype) const override { return is_float(dtype); }
  DType result_dtype(int, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[0].dtype;
  }
  double flops_per_element() const override { return 1; }
};

// (relu(x), dy) -> dx: dy where relu(x) is above 0, which is where x is.
class ReluGrad : public Elementwise {
 public:
  std::string_view name() const override { return "relu_grad"; }
  int in_place_operand(int) const override { return 1; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType> operands) const override {
    require_one_dtype(name(), operands);
    return elementwise(operands, 2, 1);
  }
};

const ReluGrad relu_grad;

// jax.nn.relu(x): max(x, 0), whose slope at 0 is 0.
class Relu : public Elementwise {
 public:
  std::string_view name() const override { return "relu"; }
  int in_place_operand(int) const override { return 0; }

  void gradient(GradientContext& context) const override {
    const ValueId y = context.graph.ops[context.op].outputs[0];
    context.operand_cotangents[0] = context.append_value(relu_grad, {y, context.result_cotangents[0]});
  }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType> operands) const override {
    return elementwise(operands, 1, 1);
  }
};

const Relu relu;

}  // namespace

std::vector<const OpDefinition*> relu_ops() { return {&relu, &relu_grad}; }

}  // namespace shardscope
