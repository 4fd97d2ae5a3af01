#pragma once

#include <vector>

#include "models/layer_kind.h"

namespace shardscope {

// "batch", and what the dimensions of an example of this rank are.
std::vector<std::string> logical_names(size_t rank);

// Appends the layers of a list to a graph, in order: the parameters and ops of layer i are those of layers/i, of the
// keys that nnx modules would draw. `example`: (batch, ...).
class ListedNetwork {
 public:
  ListedNetwork(Graph& graph, const ModelContext& context, DType compute, ValueId example);

  void append(const ListedLayer& layer);
  ValueId result() const { return results_.back(); }

 private:
  const ModelContext& context_;
  Module layers_;
  NnxRngs rngs_;
  ValueId example_;
  std::vector<ValueId> results_;     // per layer
  std::vector<ExpertRoute> routes_;  // likewise
};

}  // namespace shardscope
