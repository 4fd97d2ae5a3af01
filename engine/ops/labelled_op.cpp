#include "engine/ops/labelled_op.h"

#include <algorithm>
#include <map>

#include "engine/base/error.h"

namespace shardscope {

std::string elementwise_labels(size_t rank) { return std::string("abcdefgh").substr(0, rank); }

std::vector<TensorType> LabelledOp::infer(const Attributes& attributes, std::span<const TensorType> operands) const {
  Labels names = labels(attributes, operands);
  if (names.operands.size() != operands.size()) {
    throw Failure(Error{"operand_count",
                        std::string(name()) + " takes " + std::to_string(names.operands.size()) + " operands, got " +
                            std::to_string(operands.size()),
                        "", ""});
  }
  make_rule(names.operands, {}, operands, {});  // consistent sizes
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t d = 0; d < operands[i].shape.size(); ++d) sizes[names.operands[i][d]] = operands[i].shape[d];
  }
  std::vector<TensorType> results;
  for (const std::string& result : names.results) {
    TensorType type{{}, result_dtype(static_cast<int>(results.size()))};
    for (char label : result) {
      auto found = sizes.find(label);
      type.shape.push_back(found != sizes.end() ? found->second : extra_label_size(attributes, label));
    }
    results.push_back(type);
  }
  return results;
}

FactorRule LabelledOp::factors(const Attributes& attributes, std::span<const TensorType> operands,
                               std::span<const TensorType> results) const {
  Labels names = labels(attributes, operands);
  return make_rule(names.operands, names.results, operands, results, names.whole, names.linear);
}

double LabelledOp::flops(const Attributes&, std::span<const TensorType> operands,
                         std::span<const TensorType> results) const {
  int64_t largest = 1;
  for (const TensorType& type : operands) largest = std::max(largest, element_count(type.shape));
  for (const TensorType& type : results) largest = std::max(largest, element_count(type.shape));
  return flops_per_element() * static_cast<double>(largest);
}

}  // namespace shardscope
