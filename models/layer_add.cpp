#include <fmt/format.h>

#include "models/layer_kind.h"

namespace shardscope {

namespace {

void read_other(const Words& words, const LayersBefore& layers, ListedLayer& layer) {
  if (words.size() != 2) {
    fail_layer("'" + words[0] + "' takes the name of another layer",
               fmt::format("such as \"a = linear 8\", and later \"{} a\"", words[0]));
  }
  const int other = layers.find_joinable(words, layer, words[1]);
  if (layers.value(other).shape != layer.before.shape) {
    fail_layer(fmt::format("'{}' of {} and {}, which is '{}'", words[0], to_string(layer.before.shape),
                           to_string(layers.value(other).shape), words[1]),
               "two of the same shape");
  }
  layer.inputs.push_back(other);
}

void read_add(const Words& words, const LayersBefore& layers, ListedLayer& layer) {
  read_other(words, layers, layer);
  layer.build = [](LayerBuilder& builder) { return builder.module.add(builder.inputs[0], builder.inputs[1]); };
}

void read_multiply(const Words& words, const LayersBefore& layers, ListedLayer& layer) {
  read_other(words, layers, layer);
  layer.build = [](LayerBuilder& builder) { return builder.module.append("multiply", builder.inputs); };
}

}  // namespace

// With what the layer of that name gives, element by element.
LayerKind add_layer() { return {"add", "\"add h\"", read_add, false, true}; }
LayerKind multiply_layer() { return {"multiply", "\"multiply h\"", read_multiply, false, true}; }

}  // namespace shardscope
