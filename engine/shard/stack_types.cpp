#include "engine/shard/stack_types.h"

#include <algorithm>
#include <utility>

#include "engine/graph/casts.h"
#include "engine/graph/counted_rows.h"
#include "engine/graph/op_definition.h"

namespace shardscope {

namespace {

bool multiplies_in_few_bits(const Graph& graph) {
  return std::ranges::any_of(graph.ops, [&](const Op& op) {
    return op.definition->is_matrix_product() && !op.inputs.empty() &&
           byte_size(graph.type(op.inputs.front()).dtype) < byte_size(DType::f32);
  });
}

// The model's outputs but for numbers, what forward makes of them, and the gradients of these.
std::vector<bool> values_of_loss(const Graph& graph) {
  std::vector<bool> of_loss(graph.values.size());
  for (const auto& [name, value] : graph.outputs) {
    if (!graph.type(value).shape.empty()) of_loss[static_cast<size_t>(value)] = true;
  }
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::forward) continue;
    const bool any = std::ranges::any_of(op.inputs, [&](ValueId value) { return of_loss[static_cast<size_t>(value)]; });
    for (ValueId value : op.outputs) {
      if (any) of_loss[static_cast<size_t>(value)] = true;
    }
  }
  for (size_t v = 0; v < of_loss.size(); ++v) {
    const ValueId of = graph.values[v].cotangent_of;
    if (of != no_id && of_loss[static_cast<size_t>(of)]) of_loss[v] = true;
  }
  return of_loss;
}

}  // namespace

StackTypes::StackTypes(const Graph& graph, const Stack& stack) {
  hold_types(graph, stack);
  for (const CountedRows& rows : counted_rows(graph)) moved_.push_back(rows.share);
  if (moved_.empty() || !stack.memory.counted_rows) return;
  shares_.resize(graph.values.size(), 1);
  for (size_t v = 0; v < shares_.size(); ++v) shares_[v] *= std::exchange(moved_[v], 1);
}

void StackTypes::hold_types(const Graph& graph, const Stack& stack) {
  const bool by_row = stack.products.scales == ProductScales::row;
  if (!multiplies_in_few_bits(graph) || (!stack.memory.narrow_activations && !by_row)) return;
  shares_.resize(graph.values.size(), 1);
  if (stack.memory.narrow_activations) narrow_activations(graph);
  for (size_t v = 0; by_row && v < shares_.size(); ++v) {
    if (graph.values[v].type.dtype == DType::f8) shares_[v] = 2;
  }
}

void StackTypes::narrow_activations(const Graph& graph) {
  const std::vector<bool> of_states = values_of_states(graph), of_loss = values_of_loss(graph);
  for (size_t v = 0; v < shares_.size(); ++v) {
    const Value& value = graph.values[v];
    if (value.kind != ValueKind::result || value.type.dtype != DType::f32 || of_states[v] || of_loss[v]) continue;
    const Phase phase = graph.ops[static_cast<size_t>(value.producer)].phase;
    if (phase == Phase::update || phase == Phase::initialise) continue;
    if (value.cotangent_of == no_id || !of_states[static_cast<size_t>(value.cotangent_of)]) shares_[v] = 0.5;
  }
  // Sums over microbatches are those of gradients.
  for (const Op& op : graph.ops) {
    if (!op.definition->accumulates()) continue;
    for (ValueId value : op.outputs) shares_[static_cast<size_t>(value)] = 1;
  }
}

bool StackTypes::is_no_work(const Graph& graph, const Op& op) const {
  if (shares_.empty() || (!widens(graph, op) && !narrows(graph, op))) return false;
  if (graph.type(op.outputs.front()).dtype == DType::f8) return false;
  const auto bytes = [&](ValueId value) {
    return static_cast<double>(byte_size(graph.type(value).dtype)) * share(value);
  };
  return bytes(op.inputs.front()) == bytes(op.outputs.front());
}

}  // namespace shardscope
