#pragma once

#include <vector>

#include "engine/base/error.h"
#include "engine/graph/op_definition.h"

namespace shardscope::test {

// Whatever a test wants to say of an op.
struct NoteAttributes {
  int count = 0;
  bool operator==(const NoteAttributes&) const = default;
};
inline std::string to_string(const NoteAttributes& attributes) { return "count=" + std::to_string(attributes.count); }

// One letter for each dimension of the first operand.
inline std::string letters(std::span<const TensorType> operands) {
  return std::string("abcdef").substr(0, operands[0].shape.size());
}

// "sum": two arrays of one shape. Its gradient gives both the cotangent.
class SumOp : public OpDefinition {
 public:
  std::string_view name() const override { return "sum"; }
  OpSignature infer(const Attributes&, std::span<const TensorType> operands) const override {
    if (operands.size() != 2 || operands[0] != operands[1]) throw Failure(Error{"shape", "operands differ", "", ""});
    const std::string all = letters(operands);
    return {{operands[0]}, make_rule({{all, all}, {all}, "", true}, operands)};
  }
  void gradient(GradientContext& context) const override {
    context.operand_cotangents = {context.result_cotangents[0], context.result_cotangents[0]};
  }
  double flops(const Attributes&, std::span<const TensorType>, std::span<const TensorType>) const override { return 0; }
};

// "loss": an array to a scalar, and that array's cotangent, which is a second result of the same shape.
class LossOp : public OpDefinition {
 public:
  std::string_view name() const override { return "loss"; }
  OpSignature infer(const Attributes&, std::span<const TensorType> operands) const override {
    const std::string all = letters(operands);
    return {{{{}, DType::f32}, operands[0]}, make_rule({{all}, {"", all}, "", false}, operands)};
  }
  void gradient(GradientContext& context) const override {
    context.operand_cotangents[0] = context.graph.ops[context.op].outputs[1];
  }
  double flops(const Attributes&, std::span<const TensorType>, std::span<const TensorType>) const override { return 0; }
};

// "metric": an array to a scalar, without a gradient; whether that is meant, it is given.
class MetricOp : public OpDefinition {
 public:
  explicit MetricOp(bool stops) : stops_(stops) {}
  std::string_view name() const override { return stops_ ? "stopping_metric" : "metric"; }
  OpSignature infer(const Attributes&, std::span<const TensorType> operands) const override {
    return {{{{}, DType::f32}}, make_rule({{letters(operands)}, {""}, "", false}, operands)};
  }
  bool stops_gradient() const override { return stops_; }
  double flops(const Attributes&, std::span<const TensorType>, std::span<const TensorType>) const override { return 0; }

 private:
  bool stops_;
};

// "zeros": an array of shape (2, 3) from nothing, as an initialiser makes it.
class ZerosOp : public OpDefinition {
 public:
  std::string_view name() const override { return "zeros"; }
  OpSignature infer(const Attributes&, std::span<const TensorType> operands) const override {
    return {{{{2, 3}, DType::f32}}, make_rule({{}, {"ab"}, "", false, {}, {{'a', 2}, {'b', 3}}}, operands)};
  }
  double flops(const Attributes&, std::span<const TensorType>, std::span<const TensorType>) const override { return 0; }
};

// A rule that says what it is given, whatever the op's dimensions are.
class MisruledOp : public SumOp {
 public:
  OpSignature infer(const Attributes&, std::span<const TensorType> operands) const override {
    return {{operands[0]}, rule};
  }
  FactorRule rule;
};

inline Attributes no_attributes(const TensorType&) { return {}; }

inline const SumOp sum_op;
inline const LossOp loss_op;
inline const MetricOp metric_op(false), stopping_metric_op(true);
inline const ZerosOp zeros_op;

}  // namespace shardscope::test
