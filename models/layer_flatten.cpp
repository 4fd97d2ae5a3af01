#include <fmt/format.h>

#include "models/layer_kind.h"

namespace shardscope {

namespace {

void read_flatten(const Words& words, const LayersBefore&, ListedLayer& layer) {
  require_alone(words);
  const size_t rank = layer.before.shape.size();
  if (rank == 1) {
    fail_layer(fmt::format("'flatten' is of a picture (height, width, channels) or a sequence (length, features), got "
                           "{}",
                           to_string(layer.before.shape)),
               "leave it out");
  }
  layer.after.shape = {element_count(layer.before.shape)};
  layer.build = [equation = rank == 2 ? "bsc->b(sc)" : "bhwc->b(hwc)"](LayerBuilder& builder) {
    return builder.module.append("rearrange", {builder.inputs[0]}, EquationAttributes{equation, {}}, "flatten");
  };
}

}  // namespace

// A picture (height, width, channels) or a sequence (length, features) as a row.
LayerKind flatten_layer() { return {"flatten", "\"flatten\"", read_flatten}; }

}  // namespace shardscope
