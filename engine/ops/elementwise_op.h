#pragma once

#include "engine/ops/labelled_op.h"

namespace shardscope {

// Base of ops that make each element of one result from the same element of operands of one floating-point type.
class ElementwiseOp : public LabelledOp {
 public:
  std::string_view name() const override { return name_; }
  int in_place_operand(int) const override { return in_place_; }

 protected:
  // `in_place`: the operand that the result may overwrite.
  ElementwiseOp(std::string_view name, size_t operands, int in_place, double flops)
      : name_(name), count_(operands), in_place_(in_place), flops_(flops) {}

  // Throws Failure where the attributes are not those of the op.
  virtual void require(const Attributes&) const {}
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    require(attributes);
    require_one_dtype(name(), operands);
    return elementwise(operands, count_, 1);
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
};

}  // namespace shardscope
