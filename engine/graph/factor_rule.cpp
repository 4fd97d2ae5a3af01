#include "engine/base/error.h"
#include "engine/graph/op_definition.h"

namespace shardscope {

FactorRule make_rule(const std::vector<std::string>& operands, const std::vector<std::string>& results,
                     std::span<const TensorType> operand_types, std::span<const TensorType> result_types,
                     std::string_view whole, bool linear) {
  FactorRule rule;
  rule.linear = linear;
  auto map_dims = [&](const std::string& labels, const Shape& shape) {
    if (labels.size() != shape.size()) {
      throw Failure(Error{"rank", "'" + labels + "' does not fit shape " + to_string(shape), "", ""});
    }
    std::vector<int> dims;
    for (size_t d = 0; d < labels.size(); ++d) {
      if (labels.find(labels[d]) != d) {
        throw Failure(Error{"repeated_label",
                            std::string("dimension '") + labels[d] + "' occurs twice in '" + labels + "'", "",
                            "each dimension of an array has its own letter"});
      }
      int index = 0;
      while (index < static_cast<int>(rule.factors.size()) && rule.factors[index].label != labels[d]) ++index;
      if (index == static_cast<int>(rule.factors.size())) {
        if (index == FactorRule::max_factors) {
          throw Failure(Error{
              "factor_count",
              "an op has more than " + std::to_string(FactorRule::max_factors) + " different dimensions", "", ""});
        }
        rule.factors.push_back({labels[d], shape[d], whole.find(labels[d]) == std::string_view::npos});
      } else if (rule.factors[index].size != shape[d]) {
        throw Failure(Error{"shape",
                            std::string("dimension '") + labels[d] + "' is " +
                                std::to_string(rule.factors[index].size) + " in one place and " +
                                std::to_string(shape[d]) + " in another",
                            "", ""});
      }
      dims.push_back(index);
    }
    return dims;
  };
  for (size_t i = 0; i < operands.size(); ++i) rule.operands.push_back(map_dims(operands[i], operand_types[i].shape));
  for (size_t i = 0; i < results.size(); ++i) rule.results.push_back(map_dims(results[i], result_types[i].shape));
  return rule;
}

}  // namespace shardscope
