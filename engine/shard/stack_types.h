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
class StackTypes {
 public:
  StackTypes() = default;
  StackTypes(const Graph& graph, const Stack& stack);

  double share(ValueId value) const {  // of the bytes that it has here
    return shares_.empty() ? 1 : shares_[static_cast<size_t>(value)];
  }
  // Whether an op converts between types that are one type there.
  bool is_no_work(const Graph& graph, const Op& op) const;

 private:
  void narrow_activations(const Graph& graph);

  std::vector<double> shares_;  // of values; empty: 1
};

}  // namespace shardscope
