#include "engine/ops/cast.h"

#include "engine/ops/labelled_op.h"

namespace shardscope {

std::string to_string(const CastAttributes& attributes) { return "to=" + std::string(name(attributes.to)); }

namespace {

// x in another floating-point type, rounded to nearest even. To no smaller a type it is exact, and so linear: partial
// sums pass through, and are added in the wider type. To a smaller one they have to be whole first, since a sum of
// rounded parts is not the rounded sum; a program with a cast behind a reduction means that (JAX, XLA).
class Cast : public LabelledOp {
 public:
  std::string_view name() const override { return "cast"; }
  std::string_view work_kind() const override { return "elementwise"; }

  void gradient(GradientContext& context) const override {
    const DType from = context.graph.type(context.graph.ops[context.op].inputs[0]).dtype;
    context.operand_cotangents[0] = context.append_value(*this, {context.result_cotangents[0]}, CastAttributes{from});
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    const DType to = attributes.as<CastAttributes>().to;
    const bool exact = !operands.empty() && byte_size(to) >= byte_size(operands[0].dtype);
    return elementwise(operands, 1, 1, exact);
  }
  double flops_per_element() const override { return 1; }
  bool takes(int, DType dtype) const override { return is_float(dtype); }
  DType result_dtype(int, const Attributes& attributes, std::span<const TensorType>) const override {
    return attributes.as<CastAttributes>().to;
  }
};

const Cast cast;

}  // namespace

std::vector<const OpDefinition*> cast_ops() { return {&cast}; }

}  // namespace shardscope
