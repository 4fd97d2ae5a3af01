#pragma once

#include <string_view>

#include "engine/ops/labelled_op.h"

namespace shardscope {

// An optimizer's update: (parameter, gradient, states...) -> (parameter, states...), all of one shape, in place. The
// formula is its kernel's; the learning rate is that of the training step.
template <class OptimizerAttributes>
class OptimizerUpdate : public LabelledOp {
 public:
  OptimizerUpdate(std::string_view name, size_t states, double flops) : name_(name), states_(states), flops_(flops) {}

  std::string_view name() const override { return name_; }
  bool must_be_in_place() const override { return true; }
  int in_place_operand(int result) const override { return result == 0 ? 0 : result + 1; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<OptimizerAttributes>();
    return elementwise(operands, 2 + states_, 1 + states_);
  }
  double flops_per_element() const override { return flops_; }

 private:
  std::string_view name_;
  size_t states_;
  double flops_;  // per element
};

}  // namespace shardscope
