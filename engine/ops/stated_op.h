#pragma once

#include <string_view>
#include <vector>

#include "engine/ops/labelled_op.h"

namespace shardscope {

// All that there is to say of an op of which nothing needs more than a value or a function:
//
//   const StatedOp squares({.name = "rms_norm_squares", .work_kind = "norms", .equation = "Rz->R", .flops = 2});
struct OpStatement {
  std::string_view name, work_kind;
  // Letters of operands and results; R stands for those of the first operand's dimensions but its last, A for those of
  // all of them. Empty: `labels` gives them.
  std::string_view equation = {};
  std::string_view whole = {};  // letters that cannot be split
  double flops = 0;             // for each element of the largest operand or result
  // Of operands f (f32), i (i32) or x (any floating-point type); of results f, i, or the number of the operand whose
  // type it is. The last one stands for all that follow.
  std::string_view types = "f->f";
  std::vector<int> in_place = {};                // by result, the operand that it may overwrite
  std::vector<Reduction> reductions = {};        // by result; empty: all are sums
  void (*require)(const Attributes&) = nullptr;  // throws Failure where the attributes are not those of the op
  Labels (*labels)(const Attributes&, std::span<const TensorType> operands) = nullptr;
  void (*gradient)(GradientContext&) = nullptr;
  int64_t (*workspace)(std::span<const TensorType> operands, std::span<const TensorType> results) = nullptr;
  bool stops_gradient = false;
  int counts_operand = -1;
  double (*counted_share)(const Attributes&, std::span<const TensorType> operands) = nullptr;
};

class StatedOp : public LabelledOp {
 public:
  explicit StatedOp(OpStatement statement) : of_(std::move(statement)) {}

  std::string_view name() const override { return of_.name; }
  std::string_view work_kind() const override { return of_.work_kind; }
  bool stops_gradient() const override { return of_.stops_gradient; }
  int counts_operand() const override { return of_.counts_operand; }
  double counted_share(const Attributes& attributes, std::span<const TensorType> operands) const override {
    return of_.counted_share ? of_.counted_share(attributes, operands) : 1;
  }
  int in_place_operand(int result) const override;
  void gradient(GradientContext& context) const override;
  int64_t workspace_bytes(const Attributes& attributes, std::span<const TensorType> operands,
                          std::span<const TensorType> results, int threads) const override;

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override;
  double flops_per_element() const override { return of_.flops; }
  bool takes(int operand, DType dtype) const override;
  DType result_dtype(int result, const Attributes& attributes, std::span<const TensorType> operands) const override;

 private:
  const OpStatement of_;
};

// For `require`: attributes of this type.
template <class Own>
void require_attributes(const Attributes& attributes) {
  attributes.as<Own>();
}

}  // namespace shardscope
