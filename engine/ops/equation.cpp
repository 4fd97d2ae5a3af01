#include "engine/ops/equation.h"

#include "engine/base/error.h"

namespace shardscope {

Equation::Equation(const std::string& text) {
  const size_t arrow = text.find("->");
  if (arrow == std::string::npos) {
    throw Failure(Error{"equation", "equation '" + text + "' has no '->'", "", "for example 'bse,ef->bsf'"});
  }
  result = text.substr(arrow + 2);
  operands.emplace_back();
  for (char c : text.substr(0, arrow)) {
    if (c == ',') {
      operands.emplace_back();
    } else {
      operands.back() += c;
    }
  }
}

std::string to_string(const Equation& equation) {
  std::string text;
  for (size_t i = 0; i < equation.operands.size(); ++i) text += (i ? "," : "") + equation.operands[i];
  return text + "->" + equation.result;
}

std::string to_string(const EquationAttributes& attributes) {
  std::string text = "equation=" + to_string(attributes.equation);
  for (auto [label, size] : attributes.sizes) text += std::string(", ") + label + "=" + std::to_string(size);
  if (attributes.wide) text += ", to f32";
  return text;
}

Attributes widened(const Attributes& attributes) {
  EquationAttributes wide = attributes.as<EquationAttributes>();
  wide.wide = true;
  return wide;
}

Attributes sum_attributes(const TensorType& type) {
  const std::string labels = std::string("abcdefgh").substr(0, type.shape.size());
  return EquationAttributes{Equation({labels, labels}, labels)};
}

}  // namespace shardscope
