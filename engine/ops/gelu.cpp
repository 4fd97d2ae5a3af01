#include "engine/ops/families.h"
#include "engine/ops/labelled_op.h"

namespace shardscope {

namespace {

// (x, dy) -> dx of the tanh form.
class GeluGrad : public LabelledOp {
 public:
  std::string_view name() const override { return "gelu_grad"; }
  int in_place_operand(int) const override { return 1; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType> operands) const override {
    require_one_dtype(name(), operands);
    return elementwise(operands, 2, 1);
  }
  bool takes(int, DType dtype) const override { return is_float(dtype); }
  DType result_dtype(int, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[0].dtype;
  }
  double flops_per_element() const override { return 20; }
};

const GeluGrad gelu_grad;

// jax.nn.gelu(x, approximate=True): x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
class Gelu : public LabelledOp {
 public:
  std::string_view name() const override { return "gelu"; }
  int in_place_operand(int) const override { return 0; }

  void gradient(GradientContext& context) const override {
    ValueId x = context.graph.ops[context.op].inputs[0];
    context.operand_cotangents[0] = context.append_value(gelu_grad, {x, context.result_cotangents[0]});
  }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType> operands) const override {
    return elementwise(operands, 1, 1);
  }
  bool takes(int, DType dtype) const override { return is_float(dtype); }
  DType result_dtype(int, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[0].dtype;
  }
  double flops_per_element() const override { return 12; }
};

const Gelu gelu;

}  // namespace

std::vector<const OpDefinition*> gelu_ops() { return {&gelu, &gelu_grad}; }

}  // namespace shardscope
