#include "engine/ops/cast.h"

#include "engine/ops/families.h"
#include "engine/ops/labelled_op.h"

namespace shardscope {

std::string to_string(const CastAttributes& attributes) { return "to=" + std::string(name(attributes.to)); }

namespace {

// x in another floating-point type, rounded to nearest even. Linear, but sums of rounded summands round more.
class Cast : public LabelledOp {
 public:
  std::string_view name() const override { return "cast"; }

  void gradient(GradientContext& context) const override {
    const DType from = context.graph.type(context.graph.ops[context.op].inputs[0]).dtype;
    context.operand_cotangents[0] = context.append_value(*this, {context.result_cotangents[0]}, CastAttributes{from});
  }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType> operands) const override {
    return elementwise(operands, 1, 1);
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
