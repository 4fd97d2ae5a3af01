#include "models/sequential.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "models/compute_dtype.h"
#include "models/layer_list.h"
#include "models/listed_network.h"
#include "models/losses.h"

namespace shardscope {

namespace {

std::vector<ListedLayer> layers_of(const OptionList& options, std::vector<Error>& errors) {
  return read_layers(string_option(options, "input"), list_option(options, "layers"), errors);
}

std::vector<Error> check_sequential(const OptionList& options) {
  std::vector<Error> errors;
  layers_of(options, errors);
  return errors;
}

std::vector<Error> sequential_notes(const OptionList& options) {
  std::vector<Error> errors, notes;
  if (compute_dtype(options) == DType::f32) return notes;
  std::map<std::string, const char*> reported;  // message by code
  for (const ListedLayer& layer : layers_of(options, errors)) {
    if (layer.kind->f32_code) reported.emplace(layer.kind->f32_code, layer.kind->f32_note);
  }
  for (const auto& [code, message] : reported) {
    notes.push_back({code, message, "model.compute_dtype", "linear layers are what bf16 is for"});
  }
  return notes;
}

std::string forms_of_layers() {
  std::vector<std::string> forms;
  for (const LayerKind& kind : layer_kinds()) forms.emplace_back(kind.form);
  return fmt::format("one after the other, or joined by their names: {}", fmt::join(forms, ", "));
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
  const Shape &example = layers.front().before.shape, &result = layers.back().after.shape;
  const ValueId inputs = graph.add_input("inputs", batch_of(example, context.batch_size));
  const ValueId targets = graph.add_input("targets", batch_of(result, context.batch_size));
  graph.values[inputs].logical = logical_names(example.size());
  graph.values[targets].logical = logical_names(result.size());
  ListedNetwork network(graph, context, compute_dtype(options), inputs);
  for (const ListedLayer& layer : layers) network.append(layer);
  set_regression_outputs(graph, network.result(), targets);
  return graph;
}

std::vector<std::pair<std::string, std::vector<std::string>>> sequential_captions(const OptionList&) {
  return {{"layers/0, kernel", {"params", "layers", "0", "kernel"}}};
}

}  // namespace

ModelDefinition sequential() {
  return {"sequential",
          "a list of layers: linear, conv, activations, rotary, experts, joined by their names",
          {{"input", std::string("784"), true, 0, 0,
            "shape of an example: \"784\", \"16x64\" of a sequence, or \"28x28x1\" of a picture"},
           {"layers", TextList{"linear 512", "relu", "linear 10"}, true, 0, 0, forms_of_layers()},
           compute_dtype_option()},
          check_sequential,
          build_sequential,
          sequential_captions,
          {},
          sequential_notes};
}

}  // namespace shardscope
