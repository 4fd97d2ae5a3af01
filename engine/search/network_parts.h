#pragma once

#include <vector>

#include "engine/graph/graph.h"

namespace shardscope {

// The part of a network of `kept` layers that ops and values of its training step belong to: a layer, `kept` (what is
// before the layers) or `kept` + 1 (what is behind them).
class NetworkParts {
 public:
  NetworkParts(const Graph& graph, int kept);

  int kept() const { return kept_; }
  int count() const { return kept_ + 2; }
  int of_op(OpId op) const { return op == no_id ? kept_ + 1 : of_op_[static_cast<size_t>(op)]; }
  int of_value(ValueId id) const;
  // In the order in which forward runs them.
  int rank(int part) const { return part == kept_ ? -1 : part == kept_ + 1 ? kept_ : part; }

 private:
  void place(OpId id);
  int by_state(ValueId id);

  const Graph& graph_;
  int kept_;
  std::vector<int> of_op_, of_state_;
  std::vector<StateId> state_of_value_;
};

// Whether a parameter is read by several of these parts of a forward graph, such as tied embeddings: then its gradient
// is a sum of what stages give, where these are several.
bool shares_parameters(const Graph& forward, int kept);

}  // namespace shardscope
