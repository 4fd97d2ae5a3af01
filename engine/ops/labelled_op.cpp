#include "engine/ops/labelled_op.h"

#include <algorithm>

#include "engine/base/error.h"

namespace shardscope {

std::string elementwise_labels(size_t rank) { return std::string("abcdefgh").substr(0, rank); }

std::string row_labels(std::span<const TensorType> operands) {
  const size_t rank = operands.empty() ? 0 : operands[0].shape.size();
  return elementwise_labels(rank == 0 ? 0 : rank - 1);
}

Labels source_labels(const Shape& shape) {
  Labels labels{{}, {elementwise_labels(shape.size())}, "", false};
  for (size_t d = 0; d < shape.size(); ++d) labels.sizes.emplace_back(labels.results[0][d], shape[d]);
  return labels;
}

Labels elementwise(std::span<const TensorType> operands, size_t operand_count, size_t results, bool linear) {
  const std::string all = elementwise_labels(operands.empty() ? 0 : operands[0].shape.size());
  return {std::vector<std::string>(operand_count, all), std::vector<std::string>(results, all), "", linear};
}

void require_one_dtype(std::string_view op, std::span<const TensorType> operands) {
  for (size_t i = 1; i < operands.size(); ++i) {
    if (operands[i].dtype == operands[0].dtype) continue;
    throw Failure(Error{"dtype",
                        std::string(op) + " of " + std::string(name(operands[0].dtype)) + " and " +
                            std::string(name(operands[i].dtype)),
                        "", "cast to " + std::string(name(promote(operands[0].dtype, operands[i].dtype))) + " first"});
  }
}

OpSignature LabelledOp::infer(const Attributes& attributes, std::span<const TensorType> operands) const {
  OpSignature signature;
  signature.rule = make_rule(labels(attributes, operands), operands);
  for (size_t i = 0; i < operands.size(); ++i) {
    const DType dtype = operands[i].dtype;
    if (takes(static_cast<int>(i), dtype)) continue;
    std::string legal;
    for (DType other : {DType::f32, DType::bf16, DType::i32}) {
      if (!takes(static_cast<int>(i), other)) continue;
      legal += (legal.empty() ? "" : " or ") + std::string(shardscope::name(other));
    }
    throw Failure(Error{
        "dtype",
        "operand " + std::to_string(i) + " of " + std::string(name()) + " is " + std::string(shardscope::name(dtype)),
        "", "it may be " + legal});
  }
  for (size_t i = 0; i < signature.rule.results.size(); ++i) {
    const int result = static_cast<int>(i);
    signature.results.push_back({result_shape(signature.rule, result), result_dtype(result, attributes, operands)});
  }
  return signature;
}

double LabelledOp::flops(const Attributes&, std::span<const TensorType> operands,
                         std::span<const TensorType> results) const {
  int64_t largest = 1;
  for (const TensorType& type : operands) largest = std::max(largest, element_count(type.shape));
  for (const TensorType& type : results) largest = std::max(largest, element_count(type.shape));
  return flops_per_element() * static_cast<double>(largest);
}

}  // namespace shardscope
