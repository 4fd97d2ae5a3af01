#pragma once

#include <string>
#include <vector>

#include "engine/graph/op_definition.h"

namespace shardscope {

// Base of ops whose dimensions carry fixed labels, one string per operand and result; result sizes follow from the
// operands' labels. `elementwise` labels adapt to the first operand's rank (an op that treats all dimensions alike).
class LabelledOp : public OpDefinition {
 public:
  struct Labels {
    std::vector<std::string> operands;
    std::vector<std::string> results;
    std::string whole;  // labels that cannot be split
    bool linear = false;
  };

  std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> operands) const override;
  FactorRule factors(const Attributes& attributes, std::span<const TensorType> operands,
                     std::span<const TensorType> results) const override;
  // `flops_per_element` operations for each element of the largest operand or result.
  double flops(const Attributes& attributes, std::span<const TensorType> operands,
               std::span<const TensorType> results) const override;

 protected:
  virtual Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const = 0;
  virtual double flops_per_element() const = 0;
  virtual DType result_dtype(int /*result*/) const { return DType::f32; }
  // Sizes of labels that no operand has (an embedding gradient's vocabulary).
  virtual int64_t extra_label_size(const Attributes&, char) const { return -1; }
};

// "abcd" for rank 4.
std::string elementwise_labels(size_t rank);

}  // namespace shardscope
