#pragma once

#include <vector>

#include "engine/graph/graph.h"
#include "engine/shard/stack_types.h"

namespace shardscope {

// The arrays that parameters meet: what could be moved in their place, or in that of their gradients.
//
// Example: of x (rows x k) times a kernel (k x n) into y (rows x n), the smaller of x and y.
class ParameterTokens {
 public:
  ParameterTokens(const Graph& graph, const std::vector<bool>& of_states, const StackTypes& types);
  // Of a parameter, or a gradient, in any type: bytes (global, as a stack moves them) of the smallest other array of an
  // op that has it. 0: not known.
  double least_bytes(ValueId value) const;

 private:
  std::vector<StateId> state_of_;  // by value
  std::vector<double> least_;      // by state
};

}  // namespace shardscope
