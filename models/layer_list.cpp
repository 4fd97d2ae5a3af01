#include "models/layer_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace shardscope {

namespace {

constexpr size_t most_layers = 10'000;

bool too_many(const Shape& shape) {
  double numbers = 1;
  for (int64_t size : shape) numbers *= static_cast<double>(size);
  return numbers > static_cast<double>(most_numbers);
}

const LayerKind& kind_of(const std::string& name) {
  static const std::vector<LayerKind> kinds = layer_kinds();
  std::vector<std::string> known;
  for (const LayerKind& kind : kinds) {
    if (name == kind.name) return kind;
    known.emplace_back(kind.name);
  }
  throw Failure(Error{"unknown_layer", "unknown layer '" + name + "'", "", name_hint(name, known)});
}

// Takes "NAME =" from the front of the words.
std::string take_name(Words& words, const LayersBefore& layers) {
  if (words.size() < 2 || words[1] != "=") return {};
  const std::string name = words[0];
  words.erase(words.begin(), words.begin() + 2);
  const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  if (!std::ranges::all_of(name, fits) || !std::isalpha(static_cast<unsigned char>(name[0])) ||
      name == listed_example) {
    fail_layer("'" + name + "' cannot be the name of a layer",
               "letters, digits and _, a letter first, such as \"h = linear 512\"; \"input\" is the example");
  }
  for (int i = 0; i < layers.count(); ++i) {
    if (layers.layer(i).name == name) {
      fail_layer(fmt::format("'{}' is layer {} already", name, i), "a name of its own");
    }
  }
  return name;
}

// Takes "from NAME" from the words; the layer before where they have none.
int take_source(Words& words, const LayersBefore& layers) {
  const auto from = std::ranges::find(words, "from");
  if (from == words.end()) return layers.count() - 1;
  if (from + 1 == words.end()) fail_layer("'from' what?", "the name of a layer, such as \"silu from h\", or \"input\"");
  const int source = layers.find(from[1]);
  words.erase(from, from + 2);
  return source;
}

void require_kind(const LayerKind& kind, const ListedValue& value) {
  if (value.kind == ListedValue::Kind::choices) {
    fail_layer(fmt::format("'{}' is of an array, got the choices of a top_k layer", kind.name),
               "\"dispatch\" takes them by their name; \"from\" says what a layer takes, such as \"linear 8 from x\"");
  }
  if (value.kind == ListedValue::Kind::rows && !kind.takes_rows) {
    fail_layer(fmt::format("'{}' is of an array, got rows at their experts", kind.name),
               "\"expert_linear 512\" multiplies them, \"combine\" brings them back");
  }
}

ListedLayer read_layer(const std::string& text, const LayersBefore& layers) {
  Words words = words_of(text);
  ListedLayer layer;
  layer.name = take_name(words, layers);
  if (words.empty()) fail_layer("an empty layer", "such as \"linear 512\"");
  layer.kind = &kind_of(words[0]);
  layer.inputs = {take_source(words, layers)};
  layer.before = layer.after = layers.value(layer.inputs[0]);
  require_kind(*layer.kind, layer.before);
  layer.kind->read(words, layers, layer);
  if (too_many(layer.after.shape)) {
    fail_layer(fmt::format("its result of {} is too large", to_string(layer.after.shape)),
               fmt::format("at most {} numbers in an example", most_numbers));
  }
  return layer;
}

// The first layer whose result no other one takes, though it is not the last.
std::optional<size_t> unused_layer(const std::vector<ListedLayer>& layers) {
  std::vector<bool> used(layers.size());
  for (const ListedLayer& layer : layers) {
    for (int input : layer.inputs) {
      if (input >= 0) used[static_cast<size_t>(input)] = true;
    }
  }
  for (size_t i = 0; i + 1 < layers.size(); ++i) {
    if (!used[i]) return i;
  }
  return std::nullopt;
}

std::string place_of(size_t layer) { return fmt::format("model.layers[{}]", layer); }

void check_whole_list(const std::vector<ListedLayer>& layers, std::vector<Error>& errors) {
  if (std::ranges::none_of(layers, [](const ListedLayer& layer) { return layer.kind->has_parameters; })) {
    errors.push_back(
        {"layer", "there is no layer with parameters", "model.layers", "such as [\"linear 512\", \"relu\"]"});
    return;
  }
  if (const std::optional<size_t> unused = unused_layer(layers)) {
    errors.push_back({"unused_layer", "no layer takes what this one gives", place_of(*unused),
                      "leave it out, or take it by its name: \"add h\", \"silu from h\""});
  } else if (layers.back().after.kind != ListedValue::Kind::array) {
    errors.push_back({"layer", "the last layer gives no array", place_of(layers.size() - 1),
                      "\"combine\" brings rows back from their experts"});
  }
}

}  // namespace

std::vector<ListedLayer> read_layers(const std::string& input, const TextList& layers, std::vector<Error>& errors) {
  std::vector<ListedLayer> read;
  ListedValue example;
  for (size_t rank = 1; rank <= 3 && example.shape.empty(); ++rank) {
    example.shape = shape_of(input, rank).value_or(Shape{});
  }
  if (example.shape.empty() || too_many(example.shape)) {
    errors.push_back({"input_shape", "'" + input + "' is not the shape of an example", "model.input",
                      "\"784\" for rows of 784 numbers, \"16x64\" for sequences (length, features), \"28x28x1\" for "
                      "pictures (height, width, channels)"});
    return read;
  }
  if (layers.size() > most_layers) {
    errors.push_back({"out_of_range", fmt::format("{} layers", layers.size()), "model.layers",
                      fmt::format("at most {}", most_layers)});
    return read;
  }
  int counted = 0;
  for (size_t i = 0; i < layers.size() && errors.empty(); ++i) {
    try {
      ListedLayer layer = read_layer(layers[i], {example, read});
      counted += layer.kind->has_parameters;
      layer.number = std::max(counted - 1, 0);
      read.push_back(std::move(layer));
    } catch (const Failure& failure) {
      for (Error error : failure.errors()) {
        error.place = place_of(i);
        errors.push_back(std::move(error));
      }
    }
  }
  if (errors.empty()) check_whole_list(read, errors);
  return read;
}

}  // namespace shardscope
