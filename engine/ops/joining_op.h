#pragma once

#include "engine/ops/labelled_op.h"

namespace shardscope {

// Base of ops that make one array of several, or several of one, and of which each is the inverse of another and its
// gradient.
class JoiningOp : public LabelledOp {
 public:
  std::string_view work_kind() const override { return "data movement"; }

 protected:
  bool takes(int, DType dtype) const override { return is_float(dtype); }
  DType result_dtype(int, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[0].dtype;
  }
  double flops_per_element() const override { return 0; }

  // Of several arrays made one: its cotangent, taken apart.
  static void take_apart(const OpDefinition& apart, GradientContext& context);
  // Of one array taken apart: the parts' cotangents together. A part that nobody uses has zeros.
  static void put_together(const OpDefinition& together, GradientContext& context);
};

}  // namespace shardscope
