#include "models/layer_readers.h"

#include <fmt/format.h>

#include "models/rotary_frequencies.h"

namespace shardscope {

namespace {

void read_linear(const Words& words, const LayersBefore&, ListedLayer& layer) {
  const std::optional<int64_t> features = words.size() == 2 ? size_of(words[1]) : std::nullopt;
  if (!features) fail_layer("'linear' takes one width", "such as \"linear 512\"");
  layer.kind = ListedLayer::Kind::linear;
  layer.features = *features;
  layer.after.shape.back() = *features;
}

constexpr const char* conv_form = "such as \"conv 16 3x3\", \"conv 16 3x3 stride 2\" or \"conv 16 3x3 valid\"";

void read_conv(const Words& words, const LayersBefore&, ListedLayer& layer) {
  const Shape& before = layer.before.shape;
  if (before.size() != 3) {
    fail_layer(fmt::format("'conv' is of a picture (height, width, channels), got {}", to_string(before)),
               "say so in model.input, such as \"28x28x1\", and flatten behind it");
  }
  const std::optional<int64_t> features = words.size() > 2 ? size_of(words[1]) : std::nullopt;
  const std::optional<Shape> window = words.size() > 2 ? shape_of(words[2], 2) : std::nullopt;
  if (!features || !window) fail_layer("'conv' takes a number of features and a window", conv_form);
  Shape stride{1, 1};
  ConvPadding padding = ConvPadding::same;
  for (size_t i = 3; i < words.size(); ++i) {
    if (words[i] == "stride" && i + 1 < words.size()) {
      const std::string& text = words[++i];
      const std::optional<Shape> given = shape_of(text.find('x') == std::string::npos ? text + "x" + text : text, 2);
      if (!given) fail_layer("'" + text + "' is no stride", conv_form);
      stride = *given;
    } else if (words[i] == "same" || words[i] == "valid") {
      padding = words[i] == "same" ? ConvPadding::same : ConvPadding::valid;
    } else {
      fail_layer("'conv' does not take '" + words[i] + "'", conv_form);
    }
  }
  layer.kind = ListedLayer::Kind::conv;
  layer.features = *features;
  layer.conv = {conv_dimension(before[0], (*window)[0], stride[0], padding),
                conv_dimension(before[1], (*window)[1], stride[1], padding)};
  layer.after.shape = {layer.conv.height.output, layer.conv.width.output, *features};
}

void require_no_numbers(const Words& words) {
  if (words.size() != 1) fail_layer("'" + words[0] + "' takes nothing", "write \"" + words[0] + "\"");
}

void read_elementwise(const Words& words, const LayersBefore&, ListedLayer& layer) {
  require_no_numbers(words);
  layer.kind = ListedLayer::Kind::elementwise;
  layer.op = words[0];
}

void read_soft_cap(const Words& words, const LayersBefore&, ListedLayer& layer) {
  const std::optional<double> cap = words.size() == 2 ? real_of(words[1], 1e-6, 1e12) : std::nullopt;
  if (!cap) fail_layer("'soft_cap' takes one number from 1e-06 to 1e+12", "such as \"soft_cap 30\"");
  layer.kind = ListedLayer::Kind::soft_cap;
  layer.cap = *cap;
}

void read_gated_silu(const Words& words, const LayersBefore&, ListedLayer& layer) {
  require_no_numbers(words);
  if (layer.before.shape.back() % 2 != 0) {
    fail_layer(fmt::format("'gated_silu' halves the last dimension, which is {}", layer.before.shape.back()),
               "an even width before it, twice that of its result");
  }
  layer.kind = ListedLayer::Kind::gated_silu;
  layer.after.shape.back() /= 2;
}

void read_flatten(const Words& words, const LayersBefore&, ListedLayer& layer) {
  require_no_numbers(words);
  if (layer.before.shape.size() == 1) {
    fail_layer(fmt::format("'flatten' is of a picture (height, width, channels) or a sequence (length, features), got "
                           "{}",
                           to_string(layer.before.shape)),
               "leave it out");
  }
  layer.kind = ListedLayer::Kind::flatten;
  layer.after.shape = {element_count(layer.before.shape)};
}

// Of another value that is joined with the layer's: an array with an array, rows with rows that were sent together.
void require_joinable(const Words& words, const ListedLayer& layer, const std::string& name, const ListedValue& other) {
  if (other.kind == layer.before.kind && other.maker == layer.before.maker) return;
  fail_layer(fmt::format("'{}' is of two arrays, or of rows that one dispatch has sent; '{}' is another thing",
                         words[0], name),
             "\"combine\" makes an array of rows");
}

void read_sum_or_product(const Words& words, const LayersBefore& layers, ListedLayer& layer) {
  if (words.size() != 2) {
    fail_layer("'" + words[0] + "' takes the name of another layer",
               fmt::format("such as \"a = linear 8\", and later \"{} a\"", words[0]));
  }
  const int other = layers.find(words[1]);
  require_joinable(words, layer, words[1], layers.value(other));
  if (layers.value(other).shape != layer.before.shape) {
    fail_layer(fmt::format("'{}' of {} and {}, which is '{}'", words[0], to_string(layer.before.shape),
                           to_string(layers.value(other).shape), words[1]),
               "two of the same shape");
  }
  layer.kind = words[0] == "add" ? ListedLayer::Kind::add : ListedLayer::Kind::multiply;
  layer.inputs.push_back(other);
}

void read_concatenate(const Words& words, const LayersBefore& layers, ListedLayer& layer) {
  if (words.size() < 2 || words.size() > 4) {
    fail_layer("'concatenate' takes the names of one to three other layers", "such as \"concatenate a b\"");
  }
  layer.kind = ListedLayer::Kind::concatenate;
  layer.parts.sizes = {layer.before.shape.back()};
  for (size_t i = 1; i < words.size(); ++i) {
    const int other = layers.find(words[i]);
    require_joinable(words, layer, words[i], layers.value(other));
    const Shape& shape = layers.value(other).shape;
    Shape same = shape;
    if (!same.empty()) same.back() = layer.before.shape.back();
    if (same != layer.before.shape) {
      fail_layer(fmt::format("'concatenate' of {} and {}, which is '{}'", to_string(layer.before.shape),
                             to_string(shape), words[i]),
                 "only the last dimensions may differ");
    }
    layer.inputs.push_back(other);
    layer.parts.sizes.push_back(shape.back());
    layer.after.shape.back() += shape.back();
  }
}

void read_slice(const Words& words, const LayersBefore&, ListedLayer& layer) {
  const int64_t size = layer.before.shape.back();
  const std::optional<IndexRange> range = words.size() == 2 ? range_of(words[1], size) : std::nullopt;
  if (!range) {
    fail_layer(fmt::format("'slice' takes a range of the last dimension, which is {}", size),
               fmt::format("such as \"slice 0:{}\"", std::max<int64_t>(1, size / 2)));
  }
  layer.kind = ListedLayer::Kind::slice;
  layer.kept = range->first > 0;
  for (int64_t part : {range->first, range->end - range->first, size - range->end}) {
    if (part > 0) layer.parts.sizes.push_back(part);
  }
  layer.after.shape.back() = range->end - range->first;
}

constexpr const char* rotary_form = "such as \"rotary\", \"rotary heads 4\" or \"rotary heads 4 base 500000\"";

void read_rotary(const Words& words, const LayersBefore&, ListedLayer& layer) {
  const Shape& before = layer.before.shape;
  if (before.size() == 1) {
    fail_layer("'rotary' is of a sequence (length, features) or (length, heads, size), got " + to_string(before),
               "say so in model.input, such as \"16x64\"");
  }
  RotaryScaling scaling;
  for (size_t i = 1; i < words.size(); i += 2) {
    const std::string value = i + 1 < words.size() ? words[i + 1] : "";
    const std::optional<int64_t> heads = size_of(value);
    const std::optional<double> base = real_of(value, 1, 1e12);
    if (words[i] == "heads" && heads && before.size() == 2) {
      layer.heads = *heads;
    } else if (words[i] == "base" && base) {
      scaling.theta = *base;
    } else {
      fail_layer(fmt::format("'rotary' of {} does not take '{} {}'", to_string(before), words[i], value), rotary_form);
    }
  }
  if (before.back() % (2 * layer.heads) != 0) {
    fail_layer(fmt::format("'rotary' turns pairs of elements of {} heads, got {}", layer.heads, to_string(before)),
               "heads of an even size");
  }
  scaling.size = before.back() / layer.heads;
  layer.kind = ListedLayer::Kind::rotary;
  layer.rotary = rotary_attributes(scaling);
}

}  // namespace

std::vector<LayerReader> array_layer_readers() {
  return {{"linear", read_linear},
          {"conv", read_conv},
          {"relu", read_elementwise, true},
          {"silu", read_elementwise, true},
          {"gelu", read_elementwise, true},
          {"gelu_exact", read_elementwise, true},
          {"soft_cap", read_soft_cap, true},
          {"gated_silu", read_gated_silu, true},
          {"flatten", read_flatten},
          {"add", read_sum_or_product, true},
          {"multiply", read_sum_or_product, true},
          {"concatenate", read_concatenate, true},
          {"slice", read_slice, true},
          {"rotary", read_rotary}};
}

}  // namespace shardscope
