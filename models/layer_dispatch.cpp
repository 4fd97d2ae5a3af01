#include <fmt/format.h>

#include "engine/ops/expert_load.h"
#include "models/layer_rows.h"

namespace shardscope {

namespace {

// At most so many rows by `capacity`; 0: as many as may come.
ValueId send_rows(LayerBuilder& builder, int router, int64_t experts, double capacity) {
  const Module& module = builder.module;
  Graph& graph = module.graph();
  ExpertRoute& route = builder.routes.back();
  route = builder.routes[static_cast<size_t>(router)];
  TokenBlocks blocks = builder.context.blocks;
  if (experts % blocks.experts != 0) blocks.experts = 1;
  route.sent = sent_rows(graph.type(route.choices).shape, experts, blocks, capacity);
  const std::vector<ValueId> counted = module.append_all("expert_counts", {route.choices}, route.sent.blocks, "counts");
  route.counts = counted[0];
  graph.values[route.counts].logical = {};
  const ValueId tokens = module.as_operand(as_sequence(module, builder.inputs[0], "tokens"), "dispatch");
  const ValueId rows = module.append("dispatch", {tokens, route.choices, route.counts}, route.sent.blocks);
  const ValueId chosen = module.append("expert_load", {route.choices}, ExpertLoadAttributes{experts}, "load");
  const std::string name = graph.ops[graph.values[rows].producer].name;
  graph.expert_counts.push_back({name, chosen, capacity > 0 ? counted[1] : no_id});
  return rows;
}

void read_dispatch(const Words& words, const LayersBefore& layers, ListedLayer& layer) {
  if (words.size() != 2 && words.size() != 4) fail_layer("'dispatch' takes the name of a top_k layer", dispatch_form);
  const int router = layers.find(words[1]);
  const ListedValue& choices = layers.value(router);
  if (choices.kind != ListedValue::Kind::choices) fail_layer("'" + words[1] + "' is no top_k layer", dispatch_form);
  double capacity = 0;
  if (words.size() == 4) {
    const std::optional<double> given = words[2] == "capacity" ? real_of(words[3], 1e-3, 1e3) : std::nullopt;
    if (!given) fail_layer("'dispatch' does not take '" + words[2] + " " + words[3] + "'", dispatch_form);
    capacity = *given;
  }
  const int64_t experts = choices.shape.back();
  Shape tokens = layer.before.shape;
  tokens.back() = experts;
  if (tokens != choices.shape) {
    fail_layer(fmt::format("'dispatch' of {} by choices of scores {}, which are those of '{}'",
                           to_string(layer.before.shape), to_string(choices.shape), words[1]),
               "scores of the same rows: only the last dimensions may differ");
  }
  layer.inputs.push_back(router);
  layer.after = {ListedValue::Kind::rows, layer.before.shape, layers.count()};
  layer.build = [=](LayerBuilder& builder) { return send_rows(builder, router, experts, capacity); };
}

}  // namespace

// Rows: sent to the experts that the top_k of that name chose; "capacity 1.25" is a bound (engine/ops/dispatch.h).
LayerKind dispatch_layer() { return {"dispatch", "\"dispatch r\"", read_dispatch}; }

}  // namespace shardscope
