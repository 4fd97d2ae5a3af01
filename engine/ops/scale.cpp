#include "engine/ops/scale.h"

#include <fmt/format.h>

#include "engine/ops/labelled_op.h"

namespace shardscope {

std::string to_string(const ScaleAttributes& attributes) { return fmt::format("scale={}", attributes.scale); }

namespace {

// x times a constant. Linear, and its own gradient.
class Scale : public LabelledOp {
 public:
  std::string_view name() const override { return "scale"; }
  std::string_view work_kind() const override { return "elementwise"; }
  int in_place_operand(int) const override { return 0; }

  void gradient(GradientContext& context) const override {
    const Attributes attributes = context.graph.ops[context.op].attributes;
    context.operand_cotangents[0] = context.append_value(*this, {context.result_cotangents[0]}, attributes);
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<ScaleAttributes>();
    return elementwise(operands, 1, 1, /*linear=*/true);
  }
  double flops_per_element() const override { return 1; }
  bool takes(int, DType dtype) const override { return is_float(dtype); }
  DType result_dtype(int, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[0].dtype;
  }
};

const Scale scale;

}  // namespace

std::vector<const OpDefinition*> scale_ops() { return {&scale}; }

}  // namespace shardscope
