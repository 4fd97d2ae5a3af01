#pragma once

#include <vector>

#include "engine/graph/graph.h"

namespace shardscope {

// Which operands and results of a graph's ops pass through memory where chains of elementwise work are one kernel
// (Fusion). A chain are ops of one phase that hand values to each other and are neither products, nor attention, nor
// updates of states. Within it a value is read by no one; it is written where something outside of the chain needs it.
//
// Example: add (x, y) -> z, norm (z) -> n, product (n, w), and z again in the next layer's add: add reads x and y and
// writes z; norm reads nothing and writes n.
class FusedChains {
 public:
  explicit FusedChains(const Graph& graph);

  // Whether an op of the graph reads this operand, or writes this result, in memory.
  bool reads(const Op& op, size_t operand) const { return of(op).operands[operand]; }
  bool writes(const Op& op, size_t result) const { return of(op).results[result]; }
  bool is_in_chain(const Op& op) const { return of(op).in_chain; }
  // Whether it is no kernel of its own: it is fused with others and writes nothing.
  bool is_free(const Op& op) const;

 private:
  struct Passing {
    std::vector<bool> operands, results;
    bool in_chain = false;
  };
  const Passing& of(const Op& op) const;

  const Op* first_;
  std::vector<Passing> ops_;
};

}  // namespace shardscope
