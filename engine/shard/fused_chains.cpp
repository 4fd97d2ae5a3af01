#include "engine/shard/fused_chains.h"

#include "engine/graph/op_definition.h"

namespace shardscope {

namespace {

bool may_be_fused(const Op& op) {
  const OpDefinition& definition = *op.definition;
  return !definition.is_matrix_product() && !definition.accumulates() && !definition.must_be_in_place() &&
         definition.touches_memory() && op.phase != Phase::update && op.phase != Phase::initialise;
}

}  // namespace

FusedChains::FusedChains(const Graph& graph) : first_(graph.ops.data()), ops_(graph.ops.size()) {
  const auto fused_together = [&](OpId a, OpId b) {
    return a != no_id && ops_[static_cast<size_t>(a)].in_chain && ops_[static_cast<size_t>(b)].in_chain &&
           task_phase(graph.ops[static_cast<size_t>(a)].phase) == task_phase(graph.ops[static_cast<size_t>(b)].phase);
  };
  for (size_t i = 0; i < ops_.size(); ++i) ops_[i].in_chain = may_be_fused(graph.ops[i]);
  // A value that nothing uses leaves the graph.
  std::vector<bool> used(graph.values.size()), leaves(graph.values.size());
  for (size_t i = 0; i < ops_.size(); ++i) {
    for (ValueId value : graph.ops[i].inputs) {
      const bool inside = fused_together(graph.values[static_cast<size_t>(value)].producer, static_cast<OpId>(i));
      ops_[i].operands.push_back(!inside);
      used[static_cast<size_t>(value)] = true;
      if (!inside) leaves[static_cast<size_t>(value)] = true;
    }
  }
  for (size_t i = 0; i < ops_.size(); ++i) {
    for (ValueId value : graph.ops[i].outputs) {
      const auto at = static_cast<size_t>(value);
      ops_[i].results.push_back(leaves[at] || !used[at]);
    }
  }
}

const FusedChains::Passing& FusedChains::of(const Op& op) const { return ops_[static_cast<size_t>(&op - first_)]; }

bool FusedChains::is_free(const Op& op) const {
  const Passing& passing = of(op);
  if (!passing.in_chain) return false;
  for (bool passes : passing.results) {
    if (passes) return false;
  }
  return true;
}

}  // namespace shardscope
