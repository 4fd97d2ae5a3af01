#pragma once

#include "engine/ops/stated_op.h"

namespace shardscope {

// An op that makes each element of one result from the same element of operands of one floating-point type.
class ElementwiseOp : public LabelledOp {
 public:
  // `in_place`: the operand that the result may overwrite. `require` throws Failure where the attributes are not those
  // of the op. `linear`: sums pass through it.
  ElementwiseOp(std::string_view name, size_t operands, int in_place, double flops,
                void (*require)(const Attributes&) = nullptr, bool linear = false)
      : name_(name), count_(operands), in_place_(in_place), flops_(flops), require_(require), linear_(linear) {}

  std::string_view name() const override { return name_; }
  std::string_view work_kind() const override { return "elementwise"; }
  int in_place_operand(int) const override { return in_place_; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    if (require_) require_(attributes);
    require_one_dtype(name(), operands);
    return elementwise(operands, count_, 1, linear_);
  }
  double flops_per_element() const override { return flops_; }
  bool takes(int, DType dtype) const override { return is_float(dtype); }
  DType result_dtype(int, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[0].dtype;
  }

 private:
  std::string_view name_;
  size_t count_;
  int in_place_;
  double flops_;
  void (*require_)(const Attributes&);
  bool linear_;
};

// An op of one operand that is linear in it, and its own gradient.
class LinearFunction : public ElementwiseOp {
 public:
  LinearFunction(std::string_view name, double flops, void (*require)(const Attributes&))
      : ElementwiseOp(name, 1, 0, flops, require, true) {}

  void gradient(GradientContext& context) const override {
    const Attributes attributes = context.graph.ops[context.op].attributes;
    context.operand_cotangents[0] = context.append_value(*this, {context.result_cotangents[0]}, attributes);
  }
};

// A function of x alone, and its gradient: (x, dy) -> dx, or (y, dy) -> dx, of the same attributes.
class ElementwiseFunction : public ElementwiseOp {
 public:
  enum class GradientOf : uint8_t { operand, result };

  ElementwiseFunction(std::string_view name, double flops, const ElementwiseOp& gradient,
                      GradientOf of = GradientOf::operand, void (*require)(const Attributes&) = nullptr)
      : ElementwiseOp(name, 1, 0, flops, require), gradient_(gradient), of_(of) {}

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    const ValueId value = of_ == GradientOf::operand ? op.inputs[0] : op.outputs[0];
    context.operand_cotangents[0] =
        context.append_value(gradient_, {value, context.result_cotangents[0]}, op.attributes);
  }

 private:
  const ElementwiseOp& gradient_;
  GradientOf of_;
};

}  // namespace shardscope
