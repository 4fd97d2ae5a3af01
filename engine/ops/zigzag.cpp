#include "engine/ops/zigzag.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/ops/labelled_op.h"

namespace shardscope {

std::string to_string(const ZigzagAttributes& a) {
  return fmt::format("dimension={}, blocks={}{}", a.dimension, a.blocks, a.back ? ", back" : "");
}

namespace {

// x -> the same elements.
class ZigzagOp : public LabelledOp {
 public:
  std::string_view name() const override { return "zigzag"; }
  std::string_view work_kind() const override { return "attention"; }

  void gradient(GradientContext& context) const override {
    auto attributes = context.graph.ops[context.op].attributes.as<ZigzagAttributes>();
    attributes.back = !attributes.back;
    context.operand_cotangents[0] = context.append_value(*this, {context.result_cotangents[0]}, attributes);
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    const auto& a = attributes.as<ZigzagAttributes>();
    Labels labels = elementwise(operands, 1, 1, /*linear=*/true);
    const bool exists =
        !operands.empty() && a.dimension >= 0 && a.dimension < static_cast<int>(operands[0].shape.size());
    if (!exists || a.blocks < 1 || operands[0].shape[static_cast<size_t>(a.dimension)] % (2 * a.blocks) != 0) {
      throw Failure(Error{"attributes", to_string(a), "", "twice as many chunks as blocks, of equal size"});
    }
    labels.whole = labels.results[0].substr(static_cast<size_t>(a.dimension), 1);
    return labels;
  }
  bool takes(int, DType) const override { return true; }
  DType result_dtype(int, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[0].dtype;
  }
  double flops_per_element() const override { return 0; }
};

const ZigzagOp zigzag;

}  // namespace

std::vector<const OpDefinition*> zigzag_ops() { return {&zigzag}; }

}  // namespace shardscope
