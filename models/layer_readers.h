#pragma once

#include <string>
#include <vector>

#include "models/layer_list.h"
#include "models/layer_words.h"

namespace shardscope {

// The layers in front of an entry, by the names that it may take.
class LayersBefore {
 public:
  LayersBefore(const ListedValue& example, const std::vector<ListedLayer>& layers)
      : example_(example), layers_(layers) {}

  int count() const { return static_cast<int>(layers_.size()); }
  // -1: the example. Throws Failure where none is called so.
  int find(const std::string& name) const;
  const ListedValue& value(int layer) const { return layer < 0 ? example_ : layers_[static_cast<size_t>(layer)].after; }
  const ListedLayer& layer(int layer) const { return layers_[static_cast<size_t>(layer)]; }

 private:
  const ListedValue& example_;
  const std::vector<ListedLayer>& layers_;
};

// Reads an entry, its words from the kind on, of a layer that has its first input, `before`, and `after` equal to it:
// sets the rest. Throws Failure without a place.
struct LayerReader {
  const char* name;
  void (*read)(const Words& words, const LayersBefore& layers, ListedLayer& layer);
  bool takes_rows = false;  // at experts, too
};

// Those of arrays and of experts.
std::vector<LayerReader> array_layer_readers();
std::vector<LayerReader> expert_layer_readers();

}  // namespace shardscope
