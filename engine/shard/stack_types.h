#pragma once

#include <vector>

#include "engine/graph/graph.h"

namespace shardscope {

// In how many bytes a software stack holds and moves the values of a graph, where it keeps activations in the 16-bit
// type of its products (StackMemory::narrow_activations). Here norms, gates, residual stream and attention are f32
// between products of 16 or fewer bits; there they are 16 bits, and casts between the two are no work. Logits and what
// the loss makes of them, parameters, their gradients and states stay what they are.
class StackTypes {
 public:
  StackTypes() = default;
  explicit StackTypes(const Graph& graph);

  double share(ValueId value) const {  // of the bytes that it has here
    return narrow_.empty() || !narrow_[static_cast<size_t>(value)] ? 1 : 0.5;
  }
  // Whether an op converts between types that are one type there.
  bool is_no_work(const Graph& graph, const Op& op) const;

 private:
  std::vector<bool> narrow_;
};

}  // namespace shardscope
