#include "engine/ops/grouped_linear.h"
#include "models/initialisers.h"
#include "models/layer_rows.h"

namespace shardscope {

namespace {

void read_expert_linear(const Words& words, const LayersBefore&, ListedLayer& layer) {
  require_rows(words, layer);
  const std::optional<int64_t> features = words.size() == 2 ? size_of(words[1]) : std::nullopt;
  if (!features) fail_layer("'expert_linear' takes one width", "such as \"expert_linear 512\"");
  const int64_t in = layer.before.shape.back(), out = *features;
  layer.after.shape.back() = out;
  layer.build = [in, out, sender = static_cast<size_t>(layer.before.maker)](LayerBuilder& builder) {
    const ExpertRoute& route = builder.routes[sender];
    const Shape shape{route.sent.blocks.experts, out, in};
    const Module& module = builder.module;
    const ValueId kernel =
        module.parameter("kernel", builder.rngs.draw(lecun_normal(in, shape)), {"experts", "out", "in"});
    const ValueId rows = module.as_operand(builder.inputs[0], "grouped_linear");
    return module.append("grouped_linear", {rows, route.counts, module.as_operand(kernel, "grouped_linear")},
                         GroupedLinearAttributes{false, route.sent.filled});
  };
}

}  // namespace

// Rows, each multiplied by the kernel of its expert, as `linear` multiplies: operands in the compute type.
LayerKind expert_linear_layer() {
  return {"expert_linear", "\"expert_linear 512\"", read_expert_linear, true, true, nullptr, nullptr, true};
}

}  // namespace shardscope
