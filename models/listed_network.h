#pragma once

#include <vector>

#include "models/layer_list.h"
#include "models/module.h"
#include "models/nnx_rngs.h"
#include "models/registry.h"
#include "models/sent_rows.h"

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
  // Of choices of experts: what was chosen, and what each counts; of rows, too, how they were sent.
  struct Route {
    ValueId choices = no_id, weights = no_id, counts = no_id;
    SentRows sent;
  };

  Module module_of(const ListedLayer& layer) const { return layers_.child(std::to_string(layer.number)); }
  std::vector<ValueId> inputs_of(const ListedLayer& layer) const;
  ValueId apply(const Module& module, const ListedLayer& layer);
  const Route& route_of_rows(const ListedLayer& layer) const {
    return routes_[static_cast<size_t>(layer.before.maker)];
  }
  ValueId choose(const Module& module, ValueId scores, const ListedLayer& layer);
  ValueId send(const Module& module, ValueId x, const ListedLayer& layer);
  ValueId multiply_rows(const Module& module, ValueId rows, const ListedLayer& layer);
  ValueId bring_back(const Module& module, ValueId rows, const ListedLayer& layer) const;

  const ModelContext& context_;
  Module layers_;
  NnxRngs rngs_;
  ValueId example_;
  std::vector<ValueId> results_;  // per layer
  std::vector<Route> routes_;     // likewise
};

}  // namespace shardscope
