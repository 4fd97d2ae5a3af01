#pragma once

#include <string>
#include <vector>

#include "tests/laws/whole_graph.h"
#include "tests/ops/network.h"
#include "tests/ops/op_case.h"

namespace shardscope::test {

// What a random operand may hold, both ends included.
struct OperandRange {
  std::string op;
  size_t operand = 0;
  double low = 0, high = 0;
};

// What tests know of one family of ops.
struct OpCases {
  // At least one of each op. All sizes are multiples of 12 or 6, so that small meshes divide them.
  std::vector<OpCase> cases;
  // At least one of each op, with operands small enough to split in every way on a 2 x 2 mesh (and unequal, so that
  // mixed-up dimensions show). `differentiable` says nothing in them.
  std::vector<OpCase> small_cases;
  // Where the ops have gradients: together, those of all families have every such op.
  std::vector<NamedNetwork> networks;

  // Of each type of attributes: one value, and for each of its fields one that differs in that field alone. They take a
  // value apart, so that a new field does not compile until it has a variant.
  std::vector<std::vector<Attributes>> attributes;

  // Ops of whose results every part has the whole's bits.
  std::vector<std::string> exact;
  // Ops whose attributes have sizes of dimensions: the types of their results do not follow from those of the operands.
  std::vector<std::string> sized_by_attributes;

  // Random operands are floats from -1 to 1 and integers from 0 to `largest_integer`, but for these.
  std::vector<OperandRange> ranges;
  int32_t largest_integer = 23;
  // Makes random operands of a case fit each other, where they have to.
  void (*fit)(const OpCase& one, std::vector<TestArray>& operands) = nullptr;
};

// Of each family of ops, which is a function NAME_cases() of tests/ops/cases/NAME.cpp. Written by the build
// (cmake/registered.cmake).
std::vector<OpCases> op_case_families();

// Those of all families.
std::vector<OpCase> op_cases();
std::vector<OpCase> small_op_cases();
std::vector<NamedNetwork> networks();

// Those of the op's own family; none where it has no case.
const OpCases& cases_of(const std::string& op);

// Operands by the ranges of the op's family.
std::vector<TestArray> random_operands(const OpCase& one);

// Types of operands that many cases have: x (b, s, e), a row and a token for each (b, s), features (e), the query (b,
// s, h, d) of attention with the logarithms (b, h, s) of its sums, and choices (b, s, k) of experts.
inline const TensorType scalar = array({});
namespace large {
inline const TensorType x = array({12, 6, 24}), row = array({12, 6}), ids = tokens({12, 6}), features = array({24});
inline const TensorType query = array({12, 6, 12, 24}), lse = array({12, 12, 6}), choices = tokens({12, 6, 6});
}  // namespace large
namespace small {
inline const TensorType x = array({4, 8, 16}), row = array({4, 8}), ids = tokens({4, 8}), features = array({16});
inline const TensorType query = array({4, 8, 4, 12}), lse = array({4, 4, 8}), choices = tokens({4, 8, 4});
}  // namespace small

}  // namespace shardscope::test
