#include "models/initialisers.h"
#include "models/layer_kind.h"

namespace shardscope {

namespace {

// Over the last dimension of (batch, ...).
Equation linear_equation(size_t rank) {
  const std::string before = std::string("bhwi").substr(0, rank);
  return Equation({before + "i", "io"}, before + "o");
}

void read_linear(const Words& words, const LayersBefore&, ListedLayer& layer) {
  const std::optional<int64_t> features = words.size() == 2 ? size_of(words[1]) : std::nullopt;
  if (!features) fail_layer("'linear' takes one width", "such as \"linear 512\"");
  const int64_t in = layer.before.shape.back(), out = *features;
  layer.after.shape.back() = out;
  layer.build = [in, out, rank = layer.before.shape.size()](LayerBuilder& builder) {
    const Module& module = builder.module;
    NnxRngs& rngs = builder.rngs;
    const ValueId kernel = module.parameter("kernel", rngs.draw(lecun_normal(in, {in, out})), {"in", "out"});
    const ValueId bias = module.parameter("bias", rngs.skip(constant_initialiser(0, {out})), {"out"});
    const ValueId x = module.product(builder.inputs[0], kernel, linear_equation(rank));
    return module.add(module.cast(x, DType::f32), bias);
  };
}

}  // namespace

// nnx.Linear over the last dimension.
LayerKind linear_layer() { return {"linear", "\"linear 512\"", read_linear, true}; }

}  // namespace shardscope
