#include "engine/shard/fixed_placement.h"

#include "engine/graph/op_definition.h"

namespace shardscope {

bool is_fixed(const Op& op) { return op.definition->must_be_in_place() || op.phase == Phase::initialise; }

std::optional<Placement> fixed_placement(const Graph& graph, const Mesh& mesh, const FactorRule& rule, OpId id,
                                         const std::vector<std::optional<Sharding>>& pins) {
  const Op& op = graph.ops[id];
  if (op.definition->accumulates() && pins[op.outputs[0]]) {
    return placement_at(rule, rule.results[0], *pins[op.outputs[0]], mesh);
  }
  if (!is_fixed(op)) return std::nullopt;
  if (op.phase == Phase::initialise) return placement_at(rule, rule.results[0], *pins[op.outputs[0]], mesh);
  int anchor = op.definition->in_place_operand(0);
  for (size_t i = 1; i < op.outputs.size(); ++i) {
    const int operand = op.definition->in_place_operand(static_cast<int>(i));
    if (shard_count(*pins[op.inputs[operand]], mesh) > shard_count(*pins[op.inputs[anchor]], mesh)) anchor = operand;
  }
  return placement_at(rule, rule.operands[anchor], *pins[op.inputs[anchor]], mesh);
}

}  // namespace shardscope
