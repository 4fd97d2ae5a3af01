#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/graph/attributes.h"
#include "engine/graph/factor_rule.h"

namespace shardscope {

// An einsum-like equation in the letters of engine/graph/factor_rule.h: "bse,ehd->bshd" has operands {"bse", "ehd"} and
// result "bshd". Throws Failure (code equation) where the text is none.
struct Equation {
  Equation(const std::string& text);
  Equation(const char* text) : Equation(std::string(text)) {}
  Equation(std::vector<std::string> operands, std::string result)
      : operands(std::move(operands)), result(std::move(result)) {}

  std::vector<std::string> operands;
  std::string result;
  bool operator==(const Equation&) const = default;
};
std::string to_string(const Equation& equation);

// Attributes of the ops that an equation describes.
struct EquationAttributes {
  Equation equation;
  std::vector<std::pair<char, int64_t>> sizes = {};  // of letters that the operands leave open ("bs(hd)->bshd": h)
  bool wide = false;                                 // the result is f32, whatever the operands are
  bool operator==(const EquationAttributes&) const = default;
};
std::string to_string(const EquationAttributes& attributes);
// The same, of an f32 result.
Attributes widened(const Attributes& attributes);

// Attributes of an addition of two arrays of this type.
Attributes sum_attributes(const TensorType& type);

}  // namespace shardscope
