#include "models/layer_list.h"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <numeric>
#include <optional>

namespace shardscope {

namespace {

constexpr int64_t most_numbers = 10'000'000;  // in an example, before or behind a layer
constexpr size_t most_layers = 10'000;

[[noreturn]] void fail(const char* code, std::string message, std::string hint) {
  throw Failure(Error{code, std::move(message), "", std::move(hint)});
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words = parts_of(text, ' ');
  std::erase(words, "");
  return words;
}

std::optional<int64_t> size_of(const std::string& text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc() || stop != end || value < 1 || value > most_numbers) return std::nullopt;
  return value;
}

// "28x28x1", of `rank` numbers.
std::optional<Shape> shape_of(const std::string& text, size_t rank) {
  const std::vector<std::string> parts = parts_of(text, 'x');
  if (parts.size() != rank) return std::nullopt;
  Shape shape;
  for (const std::string& part : parts) {
    const std::optional<int64_t> size = size_of(part);
    if (!size) return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

bool too_many(const Shape& shape) {
  double numbers = 1;
  for (int64_t size : shape) numbers *= static_cast<double>(size);
  return numbers > static_cast<double>(most_numbers);
}

using Words = std::vector<std::string>;  // of an entry; the first names the layer

void read_linear(const Words& words, ListedLayer& layer) {
  const std::optional<int64_t> features = words.size() == 2 ? size_of(words[1]) : std::nullopt;
  if (!features) fail("layer", "'linear' takes one width", "such as \"linear 512\"");
  layer.kind = ListedLayer::Kind::linear;
  layer.features = *features;
  layer.after.back() = *features;
}

constexpr const char* conv_form = "such as \"conv 16 3x3\", \"conv 16 3x3 stride 2\" or \"conv 16 3x3 valid\"";

void read_conv(const Words& words, ListedLayer& layer) {
  if (layer.before.size() != 3) {
    fail("layer", fmt::format("'conv' is of a picture (height, width, channels), got {}", to_string(layer.before)),
         "say so in model.input, such as \"28x28x1\", and flatten behind it");
  }
  const std::optional<int64_t> features = words.size() > 2 ? size_of(words[1]) : std::nullopt;
  const std::optional<Shape> window = words.size() > 2 ? shape_of(words[2], 2) : std::nullopt;
  if (!features || !window) fail("layer", "'conv' takes a number of features and a window", conv_form);
  Shape stride{1, 1};
  ConvPadding padding = ConvPadding::same;
  for (size_t i = 3; i < words.size(); ++i) {
    if (words[i] == "stride" && i + 1 < words.size()) {
      const std::string& text = words[++i];
      const std::optional<Shape> given = shape_of(text.find('x') == std::string::npos ? text + "x" + text : text, 2);
      if (!given) fail("layer", "'" + text + "' is no stride", conv_form);
      stride = *given;
    } else if (words[i] == "same" || words[i] == "valid") {
      padding = words[i] == "same" ? ConvPadding::same : ConvPadding::valid;
    } else {
      fail("layer", "'conv' does not take '" + words[i] + "'", conv_form);
    }
  }
  layer.kind = ListedLayer::Kind::conv;
  layer.features = *features;
  layer.conv = {conv_dimension(layer.before[0], (*window)[0], stride[0], padding),
                conv_dimension(layer.before[1], (*window)[1], stride[1], padding)};
  layer.after = {layer.conv.height.output, layer.conv.width.output, *features};
}

void require_no_numbers(const Words& words) {
  if (words.size() != 1) fail("layer", "'" + words[0] + "' takes nothing", "write \"" + words[0] + "\"");
}

void read_elementwise(const Words& words, ListedLayer& layer) {
  require_no_numbers(words);
  layer.kind = ListedLayer::Kind::elementwise;
  layer.op = words[0];
}

void read_soft_cap(const Words& words, ListedLayer& layer) {
  double cap = 0;
  if (words.size() == 2) {
    const char* end = words[1].data() + words[1].size();
    const auto [stop, fault] = std::from_chars(words[1].data(), end, cap);
    if (fault != std::errc() || stop != end) cap = 0;
  }
  if (!(cap >= 1e-6 && cap <= 1e12)) {
    fail("layer", "'soft_cap' takes one number from 1e-06 to 1e+12", "such as \"soft_cap 30\"");
  }
  layer.kind = ListedLayer::Kind::soft_cap;
  layer.cap = cap;
}

void read_gated_silu(const Words& words, ListedLayer& layer) {
  require_no_numbers(words);
  if (layer.before.back() % 2 != 0) {
    fail("layer", fmt::format("'gated_silu' halves the last dimension, which is {}", layer.before.back()),
         "an even width before it, twice that of its result");
  }
  layer.kind = ListedLayer::Kind::gated_silu;
  layer.after.back() /= 2;
}

void read_flatten(const Words& words, ListedLayer& layer) {
  require_no_numbers(words);
  if (layer.before.size() != 3) {
    fail("layer", fmt::format("'flatten' is of a picture (height, width, channels), got {}", to_string(layer.before)),
         "leave it out");
  }
  layer.kind = ListedLayer::Kind::flatten;
  layer.after = {element_count(layer.before)};
}

struct Reader {
  const char* name;
  void (*read)(const Words& words, ListedLayer& layer);
};
constexpr Reader readers[] = {{"linear", read_linear},     {"conv", read_conv},
                              {"relu", read_elementwise},  {"silu", read_elementwise},
                              {"gelu", read_elementwise},  {"gelu_exact", read_elementwise},
                              {"soft_cap", read_soft_cap}, {"gated_silu", read_gated_silu},
                              {"flatten", read_flatten}};

ListedLayer read_layer(const std::string& text, const Shape& before) {
  const Words words = words_of(text);
  std::vector<std::string> known;
  for (const Reader& reader : readers) known.emplace_back(reader.name);
  if (words.empty()) fail("layer", "an empty layer", "such as \"linear 512\"");
  for (const Reader& reader : readers) {
    if (words[0] != reader.name) continue;
    ListedLayer layer;
    layer.before = layer.after = before;
    reader.read(words, layer);
    if (too_many(layer.after)) {
      fail("layer", fmt::format("its result of {} is too large", to_string(layer.after)),
           fmt::format("at most {} numbers in an example", most_numbers));
    }
    return layer;
  }
  fail("unknown_layer", "unknown layer '" + words[0] + "'", name_hint(words[0], known));
}

bool has_parameters(const ListedLayer& layer) {
  return layer.kind == ListedLayer::Kind::linear || layer.kind == ListedLayer::Kind::conv;
}

}  // namespace

std::vector<ListedLayer> read_layers(const std::string& input, const TextList& layers, std::vector<Error>& errors) {
  std::vector<ListedLayer> read;
  std::optional<Shape> shape = shape_of(input, 1);
  if (!shape) shape = shape_of(input, 3);
  if (!shape || too_many(*shape)) {
    errors.push_back({"input_shape", "'" + input + "' is not the shape of an example", "model.input",
                      "\"784\" for rows of 784 numbers, \"28x28x1\" for pictures (height, width, channels)"});
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
      ListedLayer layer = read_layer(layers[i], read.empty() ? *shape : read.back().after);
      counted += has_parameters(layer);
      layer.number = std::max(counted - 1, 0);
      read.push_back(std::move(layer));
    } catch (const Failure& failure) {
      for (Error error : failure.errors()) {
        error.place = fmt::format("model.layers[{}]", i);
        errors.push_back(std::move(error));
      }
    }
  }
  if (errors.empty() && counted == 0) {
    errors.push_back(
        {"layer", "there is no layer with parameters", "model.layers", "such as [\"linear 512\", \"relu\"]"});
  }
  return read;
}

}  // namespace shardscope
