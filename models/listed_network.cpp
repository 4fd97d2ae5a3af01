#include "models/listed_network.h"

namespace shardscope {

std::vector<std::string> logical_names(size_t rank) {
  if (rank == 1) return {"batch", "features"};
  if (rank == 2) return {"batch", "length", "features"};
  return {"batch", "height", "width", "features"};
}

ListedNetwork::ListedNetwork(Graph& graph, const ModelContext& context, DType compute, ValueId example)
    : context_(context), layers_(Module(graph, compute).child("layers")), rngs_(context.seed), example_(example) {}

void ListedNetwork::append(const ListedLayer& layer) {
  Graph& graph = layers_.graph();
  const PlaceScope place(graph, layer.number);
  std::vector<ValueId> inputs;
  for (int input : layer.inputs) inputs.push_back(input < 0 ? example_ : results_[static_cast<size_t>(input)]);
  routes_.emplace_back();
  const Module module = layers_.child(std::to_string(layer.number));
  for (ValueId& input : inputs) {
    if (is_float(graph.type(input).dtype) && !layer.kind->takes_products)
      input = module.cast(input, DType::f32, "widen");
  }
  LayerBuilder builder{module, rngs_, context_, std::move(inputs), routes_};
  const ValueId made = layer.build(builder);
  results_.push_back(made);
  if (layer.after.kind == ListedValue::Kind::array) {
    graph.values[made].logical = logical_names(layer.after.shape.size());
  }
}

}  // namespace shardscope
