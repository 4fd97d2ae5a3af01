#include "engine/ops/equation.h"

#include <map>

#include "engine/base/error.h"

namespace shardscope {

Equation parse_equation(const Attributes& attributes, size_t operand_count) {
  const std::string& equation = text(attributes, "equation");
  auto fail = [&](const std::string& what) -> void {
    throw Failure(Error{"equation", "equation '" + equation + "' " + what, "", "for example 'bse,ef->bsf'"});
  };
  size_t arrow = equation.find("->");
  if (arrow == std::string::npos) fail("has no '->'");
  Equation parsed;
  parsed.result = equation.substr(arrow + 2);
  std::string operand;
  for (char c : equation.substr(0, arrow) + ",") {
    if (c == ',') {
      parsed.operands.push_back(operand);
      operand.clear();
    } else {
      operand += c;
    }
  }
  if (parsed.operands.size() != operand_count) fail("does not have " + std::to_string(operand_count) + " operands");
  return parsed;
}

Shape result_shape(const Equation& equation, std::span<const TensorType> operands) {
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Shape& shape = operands[i].shape;
    if (shape.size() != equation.operands[i].size()) {
      throw Failure(Error{"rank",
                          "operand " + std::to_string(i) + " of shape " + to_string(shape) + " does not fit '" +
                              equation.operands[i] + "'",
                          "", ""});
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      auto [entry, added] = sizes.emplace(equation.operands[i][d], shape[d]);
      if (!added && entry->second != shape[d]) {
        throw Failure(Error{"shape",
                            std::string("dimension '") + entry->first + "' is " + std::to_string(entry->second) +
                                " in one operand and " + std::to_string(shape[d]) + " in another",
                            "", ""});
      }
    }
  }
  Shape shape;
  for (char label : equation.result) {
    auto found = sizes.find(label);
    if (found == sizes.end()) {
      throw Failure(Error{"equation", std::string("result dimension '") + label + "' occurs in no operand", "", ""});
    }
    shape.push_back(found->second);
  }
  return shape;
}

}  // namespace shardscope
