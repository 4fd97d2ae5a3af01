#include "models/sequential.h"

#include <algorithm>

#include "engine/ops/soft_cap.h"
#include "engine/ops/split.h"
#include "models/compute_dtype.h"
#include "models/initialisers.h"
#include "models/layer_list.h"
#include "models/losses.h"
#include "models/module.h"
#include "models/nnx_rngs.h"

namespace shardscope {

namespace {

std::vector<std::string> logical_dimensions(const Shape& shape) {
  if (shape.size() == 2) return {"batch", "features"};
  return {"batch", "height", "width", "features"};
}

ValueId linear(const Module& module, NnxRngs& rngs, ValueId x, const ListedLayer& layer) {
  const int64_t in = layer.before.back(), out = layer.features;
  const ValueId kernel = module.parameter("kernel", rngs.draw(lecun_normal(in, {in, out})), {"in", "out"});
  const ValueId bias = module.parameter("bias", rngs.skip(constant_initialiser(0, {out})), {"out"});
  x = module.product(x, kernel, layer.before.size() == 1 ? "bi,io->bo" : "bhwi,io->bhwo");
  return module.add(module.cast(x, DType::f32), bias);
}

ValueId conv(const Module& module, NnxRngs& rngs, ValueId x, const ListedLayer& layer) {
  const Shape shape{layer.conv.height.window, layer.conv.width.window, layer.before.back(), layer.features};
  const ValueId kernel =
      module.parameter("kernel", rngs.draw(lecun_normal(fan_in(shape), shape)), {"height", "width", "in", "out"});
  const ValueId bias = module.parameter("bias", rngs.skip(constant_initialiser(0, {layer.features})), {"out"});
  return module.add(module.append("conv", {x, kernel}, layer.conv), bias);
}

ValueId gated_silu(const Module& module, ValueId x, const ListedLayer& layer) {
  const int64_t half = layer.after.back();
  const int last = static_cast<int>(layer.before.size());
  const std::vector<ValueId> halves = module.append_all("split", {x}, SplitAttributes{last, {half, half}});
  return module.append("multiply", {module.append("silu", {halves[0]}), halves[1]});
}

ValueId apply(const Module& module, NnxRngs& rngs, ValueId x, const ListedLayer& layer) {
  switch (layer.kind) {
    case ListedLayer::Kind::linear: return linear(module, rngs, x, layer);
    case ListedLayer::Kind::conv: return conv(module, rngs, x, layer);
    case ListedLayer::Kind::elementwise: return module.append(layer.op, {x});
    case ListedLayer::Kind::soft_cap: return module.append("soft_cap", {x}, SoftCapAttributes{layer.cap});
    case ListedLayer::Kind::gated_silu: return gated_silu(module, x, layer);
    case ListedLayer::Kind::flatten:
      return module.append("rearrange", {x}, EquationAttributes{"bhwc->b(hwc)", {}}, "flatten");
  }
  return x;
}

std::vector<ListedLayer> layers_of(const OptionList& options, std::vector<Error>& errors) {
  return read_layers(string_option(options, "input"), list_option(options, "layers"), errors);
}

std::vector<Error> check_sequential(const OptionList& options) {
  std::vector<Error> errors;
  layers_of(options, errors);
  return errors;
}

std::vector<Error> sequential_notes(const OptionList& options) {
  std::vector<Error> errors;
  const std::vector<ListedLayer> layers = layers_of(options, errors);
  if (compute_dtype(options) == DType::f32 ||
      std::ranges::find(layers, ListedLayer::Kind::conv, &ListedLayer::kind) == layers.end()) {
    return {};
  }
  return {{"conv_dtype", "convolutions are computed in f32 all the same", "model.compute_dtype",
           "linear layers are what bf16 is for"}};
}

TensorType batch_of(const Shape& example, int64_t size) {
  Shape shape{size};
  for (int64_t dim : example) shape.push_back(dim);
  return {std::move(shape), DType::f32};
}

Graph build_sequential(const OptionList& options, const ModelContext& context) {
  std::vector<Error> errors;
  const std::vector<ListedLayer> layers = layers_of(options, errors);
  if (!errors.empty()) throw Failure(std::move(errors));
  Graph graph;
  const ValueId inputs = graph.add_input("inputs", batch_of(layers.front().before, context.batch_size));
  const ValueId targets = graph.add_input("targets", batch_of(layers.back().after, context.batch_size));
  for (ValueId value : {inputs, targets}) graph.values[value].logical = logical_dimensions(graph.type(value).shape);

  const Module modules = Module(graph, compute_dtype(options)).child("layers");
  NnxRngs rngs(context.seed);
  ValueId x = inputs;
  for (const ListedLayer& layer : layers) {
    const PlaceScope place(graph, layer.number);
    x = apply(modules.child(std::to_string(layer.number)), rngs, x, layer);
    graph.values[x].logical = logical_dimensions(graph.type(x).shape);
  }
  set_regression_outputs(graph, x, targets);
  return graph;
}

std::vector<std::pair<std::string, std::vector<std::string>>> sequential_captions(const OptionList&) {
  return {{"layers/0, kernel", {"params", "layers", "0", "kernel"}}};
}

}  // namespace

ModelDefinition sequential() {
  return {
      "sequential",
      "a list of layers: linear, conv, activations, flatten",
      {{"input", std::string("784"), true, 0, 0, "shape of an example: \"784\", or \"28x28x1\" of a picture"},
       {"layers", TextList{"linear 512", "relu", "linear 10"}, true, 0, 0,
        "\"linear 512\", \"conv 16 3x3\", \"flatten\", \"relu\", \"silu\", \"gelu\", \"gelu_exact\", \"soft_cap 30\", "
        "\"gated_silu\" (halves the width), one after the other"},
       compute_dtype_option()},
      check_sequential,
      build_sequential,
      sequential_captions,
      {},
      sequential_notes};
}

}  // namespace shardscope
