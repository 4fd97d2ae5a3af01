#include "models/layer_rows.h"

namespace shardscope {

namespace {

void read_combine(const Words& words, const LayersBefore&, ListedLayer& layer) {
  require_rows(words, layer);
  require_alone(words);
  layer.after = {ListedValue::Kind::array, layer.before.shape, -1};
  layer.build = [sender = static_cast<size_t>(layer.before.maker),
                 as_rows = layer.before.shape.size() == 1](LayerBuilder& builder) {
    const Module& module = builder.module;
    const ExpertRoute& route = builder.routes[sender];
    const ValueId rows = module.as_result(builder.inputs[0], "combine/cast");
    const ValueId slots = module.append("combine", {rows, route.choices, route.counts}, route.sent.blocks);
    module.graph().values[slots].logical = {"batch", "length", "", "features"};
    const ValueId each = module.cast(slots, DType::f32, "weighted_sum/cast");
    const ValueId sums = module.append("weighted_sum", {each, route.weights});
    return as_rows ? module.append("rearrange", {sums}, EquationAttributes{"bse->b(se)"}, "as_rows") : sums;
  };
}

}  // namespace

// The rows back where they are from: of each token the sum by the weights of its choices.
LayerKind combine_layer() { return {"combine", "\"combine\"", read_combine, false, true, nullptr, nullptr, true}; }

}  // namespace shardscope
