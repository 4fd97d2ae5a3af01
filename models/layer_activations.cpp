#include "models/layer_kind.h"

namespace shardscope {

namespace {

// The op is called as the layer.
void read_activation_layer(const Words& words, const LayersBefore&, ListedLayer& layer) {
  require_alone(words);
  layer.build = [op = words[0]](LayerBuilder& builder) { return builder.module.append(op, {builder.inputs[0]}); };
}

LayerKind activation(const char* name, const char* form) { return {name, form, read_activation_layer, false, true}; }

}  // namespace

LayerKind relu_layer() { return activation("relu", "\"relu\""); }
LayerKind silu_layer() { return activation("silu", "\"silu\""); }
// Its tanh form.
LayerKind gelu_layer() { return activation("gelu", "\"gelu\""); }
LayerKind gelu_exact_layer() { return activation("gelu_exact", "\"gelu_exact\""); }

}  // namespace shardscope
