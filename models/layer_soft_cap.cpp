#include "engine/ops/soft_cap.h"

#include "models/layer_kind.h"

namespace shardscope {

namespace {

void read_soft_cap(const Words& words, const LayersBefore&, ListedLayer& layer) {
  const std::optional<double> cap = words.size() == 2 ? real_of(words[1], 1e-6, 1e12) : std::nullopt;
  if (!cap) fail_layer("'soft_cap' takes one number from 1e-06 to 1e+12", "such as \"soft_cap 30\"");
  layer.build = [cap = *cap](LayerBuilder& builder) {
    return builder.module.append("soft_cap", {builder.inputs[0]}, SoftCapAttributes{cap});
  };
}

}  // namespace

// 30 tanh(x / 30).
LayerKind soft_cap_layer() { return {"soft_cap", "\"soft_cap 30\"", read_soft_cap, false, true}; }

}  // namespace shardscope
