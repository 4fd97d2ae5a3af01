#pragma once

#include <limits>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/shard/stack_types.h"

namespace shardscope {

// What could be moved in the place of a parameter, or of its gradient.
struct TokensOfParameter {
  StateId parameter = no_id;
  // What the op of forward takes that has the parameter. Others may take it too, and one move of it, or of its
  // cotangent, may serve all of them. no_id: not known.
  ValueId taken = no_id;
  // Bytes (global, as a stack moves them) of that array, and of the smallest other one that an op has beside the
  // parameter. Infinite: there is none.
  double taken_bytes = std::numeric_limits<double>::infinity(), other_bytes = std::numeric_limits<double>::infinity();
};

// The arrays that parameters meet.
//
// Example: of x (rows x k) times the kernels of q, k and v (k x n) into y (rows x n), x is taken by all three, and each
// y is another one. All move x, or each moves its kernel or its y.
class ParameterTokens {
 public:
  ParameterTokens(const Graph& graph, const std::vector<bool>& of_states, const StackTypes& types);
  // Of a parameter, or a gradient, in any type; of others no bytes.
  TokensOfParameter of(ValueId value) const;

 private:
  std::vector<StateId> state_of_;          // by value
  std::vector<TokensOfParameter> tokens_;  // by state
};

}  // namespace shardscope
