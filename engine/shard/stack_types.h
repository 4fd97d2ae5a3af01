#pragma once

#include <vector>

#include "engine/graph/graph.h"
#include "engine/machine/stack.h"

namespace shardscope {

// In how many bytes a software stack holds and moves the values of a graph, where it keeps activations in the 16-bit
// type of its products (StackMemory::narrow_activations). Here norms, gates, residual stream and attention are f32
// between products of 16 or fewer bits; there they are 16 bits, and casts between the two are no work. Logits and what
// the loss makes of them, parameters, their gradients and states stay what they are. Operands of f8 products that are
// scaled by row are moved in 16 bits, and held twice in 8: as scaled by row and by column.
//
// Of rows that are sent to experts, an exchange moves those that are counted; of all that there may be, a stack may
// hold those that are expected (StackMemory::counted_rows).
class StackTypes {
 public:
  StackTypes() = default;
  StackTypes(const Graph& graph, const Stack& stack);

  // Of the bytes that it has here, those that are held there, and those that an exchange of counted rows moves.
  double share(ValueId value) const { return shares_.empty() ? 1 : shares_[static_cast<size_t>(value)]; }
  double exchanged_share(ValueId value) const {
    return share(value) * (moved_.empty() ? 1 : moved_[static_cast<size_t>(value)]);
  }
  // Whether an op converts between types that are one type there.
  bool is_no_work(const Graph& graph, const Op& op) const;

 private:
  void hold_types(const Graph& graph, const Stack& stack);
  void narrow_activations(const Graph& graph);

  std::vector<double> shares_, moved_;  // of values; empty: 1
};

}  // namespace shardscope
