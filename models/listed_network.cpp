#include "models/listed_network.h"

#include "engine/ops/expert_load.h"
#include "engine/ops/grouped_linear.h"
#include "engine/ops/soft_cap.h"
#include "models/initialisers.h"

namespace shardscope {

namespace {

// Letters of an array of (batch, ...), of so many dimensions.
std::string letters(size_t rank) { return std::string("bhwi").substr(0, rank - 1) + "i"; }

std::string of_last(const std::string& all, const std::string& last) { return all.substr(0, all.size() - 1) + last; }

ValueId linear(const Module& module, NnxRngs& rngs, ValueId x, const ListedLayer& layer) {
  const int64_t in = layer.before.shape.back(), out = layer.features;
  const ValueId kernel = module.parameter("kernel", rngs.draw(lecun_normal(in, {in, out})), {"in", "out"});
  const ValueId bias = module.parameter("bias", rngs.skip(constant_initialiser(0, {out})), {"out"});
  const std::string all = letters(layer.before.shape.size() + 1);
  x = module.product(x, kernel, Equation({all, "io"}, of_last(all, "o")));
  return module.add(module.cast(x, DType::f32), bias);
}

ValueId conv(const Module& module, NnxRngs& rngs, ValueId x, const ListedLayer& layer) {
  const Shape shape{layer.conv.height.window, layer.conv.width.window, layer.before.shape.back(), layer.features};
  const ValueId kernel =
      module.parameter("kernel", rngs.draw(lecun_normal(fan_in(shape), shape)), {"height", "width", "in", "out"});
  const ValueId bias = module.parameter("bias", rngs.skip(constant_initialiser(0, {layer.features})), {"out"});
  return module.add(module.append("conv", {x, kernel}, layer.conv), bias);
}

// Parts of the last dimension, and the parts together.
std::vector<ValueId> split_last(const Module& module, ValueId x, SplitAttributes parts) {
  parts.dimension = static_cast<int>(module.graph().type(x).shape.size()) - 1;
  return module.append_all("split", {x}, parts);
}

ValueId concatenate(const Module& module, const std::vector<ValueId>& inputs, SplitAttributes parts) {
  parts.dimension = static_cast<int>(module.graph().type(inputs[0]).shape.size()) - 1;
  return module.append("concatenate", inputs, parts);
}

ValueId gated_silu(const Module& module, ValueId x, const ListedLayer& layer) {
  const int64_t half = layer.after.shape.back();
  const std::vector<ValueId> halves = split_last(module, x, {0, {half, half}});
  return module.append("multiply", {module.append("silu", {halves[0]}), halves[1]});
}

ValueId flatten(const Module& module, ValueId x, const ListedLayer& layer) {
  const std::string equation = layer.before.shape.size() == 2 ? "bsc->b(sc)" : "bhwc->b(hwc)";
  return module.append("rearrange", {x}, EquationAttributes{equation, {}}, "flatten");
}

// (batch, length, features) as heads, turned, and back.
ValueId rotary_layer(const Module& module, ValueId x, const ListedLayer& layer) {
  const bool cut = layer.before.shape.size() == 2;
  if (cut) x = module.append("rearrange", {x}, EquationAttributes{"bs(hd)->bshd", {{'h', layer.heads}}}, "to_heads");
  x = module.append("rotary", {x}, layer.rotary);
  return cut ? module.append("rearrange", {x}, EquationAttributes{"bshd->bs(hd)"}, "from_heads") : x;
}

// Rows (b, features) as sequences of one, which ops of experts take; sequences as they are.
ValueId as_sequence(const Module& module, ValueId x, const char* leaf) {
  if (module.graph().type(x).shape.size() == 3) return x;
  x = module.append("rearrange", {x}, EquationAttributes{"b(se)->bse", {{'s', 1}}}, leaf);
  module.graph().values[x].logical = {"batch", "", "features"};
  return x;
}

}  // namespace

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
  routes_.emplace_back();
  const ValueId made = apply(module_of(layer), layer);
  results_.push_back(made);
  if (layer.after.kind == ListedValue::Kind::array) {
    graph.values[made].logical = logical_names(layer.after.shape.size());
  }
}

std::vector<ValueId> ListedNetwork::inputs_of(const ListedLayer& layer) const {
  std::vector<ValueId> values;
  for (int input : layer.inputs) values.push_back(input < 0 ? example_ : results_[static_cast<size_t>(input)]);
  return values;
}

ValueId ListedNetwork::apply(const Module& module, const ListedLayer& layer) {
  using Kind = ListedLayer::Kind;
  const std::vector<ValueId> inputs = inputs_of(layer);
  const ValueId x = inputs[0];
  switch (layer.kind) {
    case Kind::linear: return linear(module, rngs_, x, layer);
    case Kind::conv: return conv(module, rngs_, x, layer);
    case Kind::elementwise: return module.append(layer.op, {x});
    case Kind::soft_cap: return module.append("soft_cap", {x}, SoftCapAttributes{layer.cap});
    case Kind::gated_silu: return gated_silu(module, x, layer);
    case Kind::flatten: return flatten(module, x, layer);
    case Kind::add: return module.add(x, inputs[1]);
    case Kind::multiply: return module.append("multiply", inputs);
    case Kind::concatenate: return concatenate(module, inputs, layer.parts);
    case Kind::slice: return split_last(module, x, layer.parts)[static_cast<size_t>(layer.kept)];
    case Kind::rotary: return rotary_layer(module, x, layer);
    case Kind::top_k: return choose(module, x, layer);
    case Kind::dispatch: return send(module, x, layer);
    case Kind::expert_linear: return multiply_rows(module, x, layer);
    case Kind::combine: return bring_back(module, x, layer);
  }
  return x;
}

ValueId ListedNetwork::choose(const Module& module, ValueId scores, const ListedLayer& layer) {
  const std::vector<ValueId> chosen = module.append_all("top_k", {as_sequence(module, scores, "scores")}, layer.choice);
  routes_.back().choices = chosen[0];
  routes_.back().weights = chosen[1];
  return chosen[0];
}

ValueId ListedNetwork::send(const Module& module, ValueId x, const ListedLayer& layer) {
  Graph& graph = module.graph();
  Route& route = routes_.back();
  route = routes_[static_cast<size_t>(layer.inputs[1])];
  TokenBlocks blocks = context_.blocks;
  if (layer.experts % blocks.experts != 0) blocks.experts = 1;
  route.sent = sent_rows(graph.type(route.choices).shape, layer.experts, blocks, layer.capacity);
  const std::vector<ValueId> counted = module.append_all("expert_counts", {route.choices}, route.sent.blocks, "counts");
  route.counts = counted[0];
  graph.values[route.counts].logical = {};
  const ValueId rows =
      module.append("dispatch", {as_sequence(module, x, "tokens"), route.choices, route.counts}, route.sent.blocks);
  const ValueId chosen = module.append("expert_load", {route.choices}, ExpertLoadAttributes{layer.experts}, "load");
  const std::string name = graph.ops[graph.values[rows].producer].name;
  graph.expert_counts.push_back({name, chosen, layer.capacity > 0 ? counted[1] : no_id});
  return rows;
}

ValueId ListedNetwork::multiply_rows(const Module& module, ValueId rows, const ListedLayer& layer) {
  const Route& route = route_of_rows(layer);
  const int64_t in = layer.before.shape.back(), experts = route.sent.blocks.experts;
  const ValueId kernel =
      module.parameter("kernel", rngs_.draw(lecun_normal(in, {experts, layer.features, in})), {"experts", "out", "in"});
  return module.append("grouped_linear", {rows, route.counts, kernel},
                       GroupedLinearAttributes{false, route.sent.filled});
}

ValueId ListedNetwork::bring_back(const Module& module, ValueId rows, const ListedLayer& layer) const {
  const Route& route = route_of_rows(layer);
  const ValueId slots = module.append("combine", {rows, route.choices, route.counts}, route.sent.blocks);
  module.graph().values[slots].logical = {"batch", "length", "", "features"};
  const ValueId sums = module.append("weighted_sum", {slots, route.weights});
  if (layer.after.shape.size() == 2) return sums;
  return module.append("rearrange", {sums}, EquationAttributes{"bse->b(se)"}, "as_rows");
}

}  // namespace shardscope
