#include "engine/graph/counted_rows.h"

#include <algorithm>

#include "engine/graph/op_definition.h"

namespace shardscope {

std::vector<CountedRows> counted_rows(const Graph& graph) {
  const auto counts = [](const Op& op) { return op.definition->counts_operand() >= 0; };
  if (std::ranges::none_of(graph.ops, counts)) return {};
  std::vector<CountedRows> rows(graph.values.size());
  for (OpId id = 0; id < static_cast<OpId>(graph.ops.size()); ++id) {
    const Op& op = graph.ops[static_cast<size_t>(id)];
    if (op.inputs.empty()) continue;
    CountedRows made = rows[static_cast<size_t>(op.inputs[0])];
    if (counts(op)) {
      std::vector<TensorType> operands;
      for (ValueId value : op.inputs) operands.push_back(graph.type(value));
      const ValueId by = op.inputs[static_cast<size_t>(op.definition->counts_operand())];
      made = {by, op.definition->counted_share(op.attributes, operands)};
    } else if (made.counts == no_id || graph.rule(id).operands[0] != graph.rule(id).results[0]) {
      continue;
    }
    rows[static_cast<size_t>(op.outputs[0])] = made;
  }
  return rows;
}

}  // namespace shardscope
