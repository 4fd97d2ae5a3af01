#include <fmt/format.h>

#include "models/layer_kind.h"
#include "models/layer_parts.h"

namespace shardscope {

namespace {

void read_concatenate(const Words& words, const LayersBefore& layers, ListedLayer& layer) {
  if (words.size() < 2 || words.size() > 4) {
    fail_layer("'concatenate' takes the names of one to three other layers", "such as \"concatenate a b\"");
  }
  std::vector<int64_t> sizes = {layer.before.shape.back()};
  for (size_t i = 1; i < words.size(); ++i) {
    const int other = layers.find_joinable(words, layer, words[i]);
    const Shape& shape = layers.value(other).shape;
    Shape same = shape;
    if (!same.empty()) same.back() = layer.before.shape.back();
    if (same != layer.before.shape) {
      fail_layer(fmt::format("'concatenate' of {} and {}, which is '{}'", to_string(layer.before.shape),
                             to_string(shape), words[i]),
                 "only the last dimensions may differ");
    }
    layer.inputs.push_back(other);
    sizes.push_back(shape.back());
    layer.after.shape.back() += shape.back();
  }
  layer.build = [sizes](LayerBuilder& builder) {
    return builder.module.append("concatenate", builder.inputs, parts_of_last(builder, sizes));
  };
}

}  // namespace

// Along the last dimension: up to four arrays, itself the first.
LayerKind concatenate_layer() { return {"concatenate", "\"concatenate h\"", read_concatenate, false, true}; }

}  // namespace shardscope
