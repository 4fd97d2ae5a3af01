#include <fmt/format.h>

#include "models/layer_kind.h"
#include "models/layer_parts.h"

namespace shardscope {

namespace {

void read_gated_silu(const Words& words, const LayersBefore&, ListedLayer& layer) {
  require_alone(words);
  const int64_t width = layer.before.shape.back();
  if (width % 2 != 0) {
    fail_layer(fmt::format("'gated_silu' halves the last dimension, which is {}", width),
               "an even width before it, twice that of its result");
  }
  layer.after.shape.back() = width / 2;
  layer.build = [half = width / 2](LayerBuilder& builder) {
    const Module& module = builder.module;
    const std::vector<ValueId> halves =
        module.append_all("split", {builder.inputs[0]}, parts_of_last(builder, {half, half}));
    return module.append("multiply", {module.append("silu", {halves[0]}), halves[1]});
  };
}

}  // namespace

// silu of the first half of the last dimension, times the second half.
LayerKind gated_silu_layer() {
  return {"gated_silu", "\"gated_silu\" (halves the width)", read_gated_silu, false, true};
}

}  // namespace shardscope
