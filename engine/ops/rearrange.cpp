#include <algorithm>

#include "engine/base/error.h"
#include "engine/ops/equation.h"
#include "engine/ops/labelled_op.h"

namespace shardscope {

namespace {

// The same elements in other dimensions, as einops.rearrange: transposes, joins and splits dimensions.
// "bs(hd)->bshd" with h = 8 splits heads, "bchw->b(hwc)" flattens pictures for a linear layer.
class Rearrange : public LabelledOp {
 public:
  std::string_view name() const override { return "rearrange"; }
  bool is_view() const override { return true; }
  std::string_view work_kind() const override { return "data movement"; }

  OpSignature infer(const Attributes& attributes, std::span<const TensorType> operands) const override {
    OpSignature signature = LabelledOp::infer(attributes, operands);
    const Equation& equation = attributes.as<EquationAttributes>().equation;
    std::string from = equation.operands[0], to = equation.result;
    for (std::string* text : {&from, &to}) {
      std::erase_if(*text, [](char c) { return c == '(' || c == ')'; });
      std::sort(text->begin(), text->end());
    }
    if (from != to) {
      throw Failure(Error{"equation", "equation '" + to_string(equation) + "' is not a rearrangement", "",
                          "both sides have the same letters, each once"});
    }
    return signature;
  }

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    const EquationAttributes& attributes = op.attributes.as<EquationAttributes>();
    EquationAttributes back{Equation({attributes.equation.result}, attributes.equation.operands[0]), {}};
    for (const Factor& factor : context.graph.rule(context.op).factors) {
      back.sizes.emplace_back(factor.label, factor.size);
    }
    context.operand_cotangents[0] = context.append_value(*this, {context.result_cotangents[0]}, back);
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType>) const override {
    const EquationAttributes& given = attributes.as<EquationAttributes>();
    return {given.equation.operands, {given.equation.result}, "", /*linear=*/true, {}, given.sizes};
  }
  double flops_per_element() const override { return 0; }
  bool takes(int, DType) const override { return true; }
  DType result_dtype(int, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[0].dtype;
  }
};

const Rearrange rearrange;

}  // namespace

std::vector<const OpDefinition*> rearrange_ops() { return {&rearrange}; }

}  // namespace shardscope
