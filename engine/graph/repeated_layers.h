#pragma once

#include <cstdint>
#include <vector>

#include "engine/graph/graph.h"

namespace shardscope {

// Equal layers of a network, one behind the other.
struct EqualLayers {
  int64_t first = 0, count = 1;  // in the whole network
  int kept = 0;                  // the first that is kept, in the shortened one
  int kept_count = 1;            // 1 or 2: the first, and the last

  int64_t end() const { return first + count; }
};

// A forward graph of which, of more than two equal layers in a row, the first and the last are left.
struct ShortenedGraph {
  Graph graph;
  std::vector<EqualLayers> layers;  // in the network's order
};

// Layers are equal where their ops, in order, have the same definitions, attributes and operand types, and operands
// come from the same place: a result of the layer or of the layer before, by position, a state of the layer's own, or
// the same value from elsewhere. What the last left out gave to the layer behind it, the first gives now. Layers whose
// results are used further away, or given by the graph, are left in.
//
// Example: 48 layers, of which all but the first read the layer before: [first 0, count 1], [first 1, count 47, kept 1,
// kept_count 2]: a graph of three layers.
ShortenedGraph shorten(const Graph& forward);

}  // namespace shardscope
