#include "models/decoder_experts.h"

#include "engine/ops/expert_linear.h"
#include "engine/ops/split.h"
#include "models/decoder_feed_forward.h"

namespace shardscope {

namespace {

// Gate and up kernels: halves of one parameter.
std::vector<ValueId> gate_and_up(const DecoderModule& module) {
  const DecoderExperts& experts = module.options().experts;
  const ValueId both = module.weight({experts.count, 2 * experts.inner, module.options().width},
                                     {"experts", "", "embed"}, "gate_up_proj");
  const std::vector<ValueId> halves =
      module.module().append_all("split", {both}, SplitAttributes{1, {experts.inner, experts.inner}});
  for (ValueId half : halves) module.graph().values[half].logical = {"experts", "mlp", "embed"};
  return halves;
}

}  // namespace

ValueId decoder_experts(const DecoderModule& module, ValueId x) {
  const PlaceScope place(module.graph(), LayerPart::mlp);
  const DecoderOptions& o = module.options();
  Graph& graph = module.graph();
  const DecoderModule router = module.child(o.names.router), experts = module.child(o.names.experts);
  const ValueId weight = router.weight({o.experts.count, o.width}, {"experts", "embed"});
  const ValueId logits = router.linear(x, weight, no_id);
  const std::vector<ValueId> chosen = router.module().append_all("top_k", {logits}, o.experts.choice);
  for (ValueId value : chosen) graph.values[value].logical = {"batch", "length", ""};
  const std::vector<ValueId> kernels = gate_and_up(experts);
  const ValueId down =
      experts.weight({o.experts.count, o.width, o.experts.inner}, {"experts", "embed", "mlp"}, "down_proj");
  const ExpertLinearAttributes attributes{o.experts.count, false};
  const auto multiply = [&](ValueId of, ValueId kernel, const char* leaf, const char* features) {
    const ValueId y = experts.module().append("expert_linear", {of, chosen[0], kernel}, attributes, leaf);
    graph.values[y].logical = {"batch", "length", "", features};
    return y;
  };
  const ValueId gate = multiply(x, kernels[0], "gate", "mlp"), up = multiply(x, kernels[1], "up", "mlp");
  const ValueId inner = experts.module().append("multiply", {activate(experts.module(), gate, o.activation), up});
  const ValueId made = multiply(inner, down, "down", "embed");
  const ValueId y = experts.module().append("weighted_sum", {made, chosen[1]});
  graph.values[y].logical = {"batch", "length", "embed"};
  return y;
}

}  // namespace shardscope
