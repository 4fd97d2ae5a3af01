#pragma once

#include <vector>

#include "engine/base/error.h"
#include "engine/graph/op_definition.h"

namespace shardscope::test {

// "sum": two arrays of one shape. Its gradient gives both the cotangent.
class SumOp : public OpDefinition {
 public:
  std::string_view name() const override { return "sum"; }
  std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> operands) const override {
    if (operands.size() != 2 || operands[0] != operands[1]) throw Failure(Error{"shape", "operands differ", "", ""});
    return {operands[0]};
  }
  FactorRule factors(const Attributes&, std::span<const TensorType> operands,
                     std::span<const TensorType> results) const override {
    const std::string all = std::string("abcdef").substr(0, operands[0].shape.size());
    return make_rule({all, all}, {all}, operands, results, "", true);
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
  std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> operands) const override {
    return {{{}, DType::f32}, operands[0]};
  }
  FactorRule factors(const Attributes&, std::span<const TensorType> operands,
                     std::span<const TensorType> results) const override {
    const std::string all = std::string("abcdef").substr(0, operands[0].shape.size());
    return make_rule({all}, {"", all}, operands, results);
  }
  void gradient(GradientContext& context) const override {
    context.operand_cotangents[0] = context.graph.ops[context.op].outputs[1];
  }
  double flops(const Attributes&, std::span<const TensorType>, std::span<const TensorType>) const override { return 0; }
};

// A rule that says what it is told, whatever the op's dimensions are.
class MisruledOp : public SumOp {
 public:
  FactorRule factors(const Attributes&, std::span<const TensorType>, std::span<const TensorType>) const override {
    return rule;
  }
  FactorRule rule;
};

inline const SumOp sum_op;
inline const LossOp loss_op;

}  // namespace shardscope::test
