#pragma once

#include <string_view>
#include <vector>

#include "tests/reference/reference.h"

namespace shardscope::reference {

struct Call {
  const Attributes& attributes;
  std::span<const Array> operands;
  int64_t step;

  const Values& values(size_t operand) const { return operands[operand].values; }
  const Shape& shape(size_t operand) const { return operands[operand].type.shape; }
};

// An op's results, not yet rounded to their types.
using Results = std::vector<Values>;

struct NamedReference {
  std::string_view op;
  Results (*results)(const Call&);
};

// Of each family of ops, which is a function NAME_references() of one file. Written by the build
// (cmake/registered.cmake).
std::vector<std::vector<NamedReference>> reference_families();

// An operand as a table whose columns are its last dimension.
using Table = Eigen::Array<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
inline Eigen::Map<const Table> table(const Array& array) {
  const int64_t columns = array.type.shape.back();
  return {array.values.data(), columns == 0 ? 0 : array.values.size() / columns, columns};
}
inline Values flat(const Table& table) { return Eigen::Map<const Values>(table.data(), table.size()); }

}  // namespace shardscope::reference
