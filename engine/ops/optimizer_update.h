#pragma once

#include <string_view>

#include "engine/ops/labelled_op.h"

namespace shardscope {

// An optimizer's update: (parameter, gradient, states... [, master]) -> (parameter, states... [, master]), all of one
// shape, in place, each of whatever floating-point type. The formula is its kernel's, which computes in f32 and rounds
// what it stores; the learning rate is that of the training step. With a master copy, that is what is updated, and the
// parameter is its rounded value.
template <class OptimizerAttributes>
class OptimizerUpdate : public LabelledOp {
 public:
  OptimizerUpdate(std::string_view name, size_t states, double flops) : name_(name), states_(states), flops_(flops) {}

  std::string_view name() const override { return name_; }
  std::string_view work_kind() const override { return "optimizers"; }
  bool must_be_in_place() const override { return true; }
  int in_place_operand(int result) const override { return result == 0 ? 0 : result + 1; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<OptimizerAttributes>();
    const size_t master = operands.size() > 2 + states_ ? 1 : 0;
    return elementwise(operands, 2 + states_ + master, 1 + states_ + master);
  }
  double flops_per_element() const override { return flops_; }
  bool takes(int, DType dtype) const override { return is_float(dtype); }
  DType result_dtype(int result, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[static_cast<size_t>(in_place_operand(result))].dtype;
  }

 private:
  std::string_view name_;
  size_t states_;
  double flops_;  // per element
};

}  // namespace shardscope
