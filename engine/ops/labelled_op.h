#pragma once

#include <string>
#include <vector>

#include "engine/graph/op_definition.h"

namespace shardscope {

// Base of ops whose dimensions carry letters, one string per operand and result; shapes of the results follow.
class LabelledOp : public OpDefinition {
 public:
  OpSignature infer(const Attributes& attributes, std::span<const TensorType> operands) const override;
  // `flops_per_element` operations for each element of the largest operand or result.
  double flops(const Attributes& attributes, std::span<const TensorType> operands,
               std::span<const TensorType> results) const override;

 protected:
  virtual Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const = 0;
  virtual double flops_per_element() const = 0;
  // Which types an operand may have: f32 unless the op says otherwise.
  virtual bool takes(int /*operand*/, DType dtype) const { return dtype == DType::f32; }
  virtual DType result_dtype(int /*result*/, const Attributes&, std::span<const TensorType> /*operands*/) const {
    return DType::f32;
  }
};

// "abcd" for rank 4.
std::string elementwise_labels(size_t rank);
// The same without the last dimension of the first operand.
std::string row_labels(std::span<const TensorType> operands);

// Of an op that makes an array of `shape` from nothing.
Labels source_labels(const Shape& shape);

// Of an op on `operand_count` arrays of the shape of the first one; `linear` where sums pass through it.
Labels elementwise(std::span<const TensorType> operands, size_t operand_count, size_t results, bool linear = false);

// Throws Failure (code dtype) unless all operands have one type.
void require_one_dtype(std::string_view op, std::span<const TensorType> operands);

}  // namespace shardscope
