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

// Each op family is one file.
std::vector<NamedReference> activation_references();
std::vector<NamedReference> adam_references();
std::vector<NamedReference> attention_references();
std::vector<NamedReference> attention_sink_references();
std::vector<NamedReference> conv_references();
std::vector<NamedReference> cross_entropy_references();
std::vector<NamedReference> dispatch_references();
std::vector<NamedReference> dropout_references();
std::vector<NamedReference> elementwise_references();
std::vector<NamedReference> embedding_references();
std::vector<NamedReference> equation_references();
std::vector<NamedReference> expert_references();
std::vector<NamedReference> global_norm_references();
std::vector<NamedReference> grouped_linear_references();
std::vector<NamedReference> initialise_references();
std::vector<NamedReference> layer_norm_references();
std::vector<NamedReference> ring_attention_references();
std::vector<NamedReference> rms_norm_references();
std::vector<NamedReference> rotary_references();
std::vector<NamedReference> sgd_references();
std::vector<NamedReference> momentum_sgd_references();
std::vector<NamedReference> lion_references();
std::vector<NamedReference> next_token_references();
std::vector<NamedReference> no_update_references();
std::vector<NamedReference> split_references();
std::vector<NamedReference> squared_error_references();
std::vector<NamedReference> stack_references();

// An operand as a table whose columns are its last dimension.
using Table = Eigen::Array<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
inline Eigen::Map<const Table> table(const Array& array) {
  const int64_t columns = array.type.shape.back();
  return {array.values.data(), columns == 0 ? 0 : array.values.size() / columns, columns};
}
inline Values flat(const Table& table) { return Eigen::Map<const Values>(table.data(), table.size()); }

}  // namespace shardscope::reference
