#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/shape.h"
#include "models/layer_words.h"
#include "models/module.h"
#include "models/nnx_rngs.h"
#include "models/registry.h"
#include "models/sent_rows.h"

namespace shardscope {

struct LayerKind;

// What a layer takes or gives.
struct ListedValue {
  enum class Kind : uint8_t {
    array,
    choices,  // of experts, and what each counts: of an array of their scores
    rows      // of an array, at the experts that they chose
  };

  Kind kind = Kind::array;
  Shape shape;     // of an example, without the batch: of the array
  int maker = -1;  // the layer that chose, or that sent the rows
  bool operator==(const ListedValue&) const = default;
};

// Of choices of experts: what was chosen, and what each counts; of rows, too, how they were sent.
struct ExpertRoute {
  ValueId choices = no_id, weights = no_id, counts = no_id;
  SentRows sent;
};

// What a layer is built with. Its parameters and ops are those of `module`; it draws keys as its nnx module would.
struct LayerBuilder {
  const Module& module;
  NnxRngs& rngs;
  const ModelContext& context;
  std::vector<ValueId> inputs;       // what the layers that it takes have given
  std::vector<ExpertRoute>& routes;  // per layer, the last one its own
};

// An entry of a list of layers, read.
struct ListedLayer {
  const LayerKind* kind = nullptr;
  std::string name;         // of what it gives; or empty
  std::vector<int> inputs;  // layers whose results it takes; -1: the example
  ListedValue before, after;
  // The layer that it is part of. Those with parameters are counted, from 0; what stands between two of them is part of
  // the first.
  int number = 0;
  std::function<ValueId(LayerBuilder&)> build;  // appends it to the graph, and returns what it gives
};

// The layers in front of an entry, by the names that it may take.
class LayersBefore {
 public:
  LayersBefore(const ListedValue& example, const std::vector<ListedLayer>& layers)
      : example_(example), layers_(layers) {}

  int count() const { return static_cast<int>(layers_.size()); }
  // -1: the example. Throws Failure where none is called so.
  int find(const std::string& name) const;
  // Of words "add NAME", `layer` the one that is read: the layer called so, where both give arrays, or rows that one
  // dispatch has sent. Throws Failure where they do not.
  int find_joinable(const Words& words, const ListedLayer& layer, const std::string& name) const;
  const ListedValue& value(int layer) const { return layer < 0 ? example_ : layers_[static_cast<size_t>(layer)].after; }
  const ListedLayer& layer(int layer) const { return layers_[static_cast<size_t>(layer)]; }

 private:
  const ListedValue& example_;
  const std::vector<ListedLayer>& layers_;
};

// A kind of layer: the function NAME_layer() of its file.
struct LayerKind {
  const char* name;  // the first word of its entries
  const char* form;  // as the help of "layers" shows it
  // Reads an entry, its words from the kind on, of a layer that has its first input, `before`, and `after` equal to it:
  // sets further inputs, `after` and `build`. Throws Failure without a place.
  void (*read)(const Words& words, const LayersBefore& layers, ListedLayer& layer);
  bool has_parameters = false;
  bool takes_rows = false;  // at experts, too
  // A note where the model computes in bf16 and this layer does not: code and message.
  const char *f32_code = nullptr, *f32_note = nullptr;
  bool takes_products = false;  // as they are, in the type of products; other layers take them in f32
};

// Of each kind, in the order of their names. Written by the build (cmake/registered.cmake).
std::vector<LayerKind> layer_kinds();

// Throws Failure where an entry has more than its kind.
void require_alone(const Words& words);

}  // namespace shardscope
