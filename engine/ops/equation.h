#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/base/shape.h"
#include "engine/graph/graph.h"

namespace shardscope {

// An einsum-like equation, one character per dimension: "bse,ehd->bshd" has operands {"bse", "ehd"}, result "bshd".
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

// Parses the attribute "equation". Throws Failure when it is malformed or does not name as many operands as given.
Equation parse_equation(const Attributes& attributes, size_t operand_count);

// Sizes of the result's dimensions; throws Failure when a label has two sizes, or none.
Shape result_shape(const Equation& equation, std::span<const TensorType> operands);

}  // namespace shardscope
