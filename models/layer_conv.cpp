#include "engine/ops/conv.h"

#include <fmt/format.h>

#include "models/initialisers.h"
#include "models/layer_kind.h"

namespace shardscope {

namespace {

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
  const ConvAttributes conv{conv_dimension(before[0], (*window)[0], stride[0], padding),
                            conv_dimension(before[1], (*window)[1], stride[1], padding)};
  const Shape shape{conv.height.window, conv.width.window, before[2], *features};
  layer.after.shape = {conv.height.output, conv.width.output, *features};
  layer.build = [conv, shape](LayerBuilder& builder) {
    const Module& module = builder.module;
    const ValueId kernel = module.parameter("kernel", builder.rngs.draw(lecun_normal(fan_in(shape), shape)),
                                            {"height", "width", "in", "out"});
    const ValueId bias = module.parameter("bias", builder.rngs.skip(constant_initialiser(0, {shape.back()})), {"out"});
    return module.add(module.append("conv", {builder.inputs[0], kernel}, conv), bias);
  };
}

}  // namespace

// nnx.Conv: "conv 16 3x3" has 16 features and a window of 3 x 3 (height, width); then, where they are not as here,
// "stride 1x1" ("stride 2": both) and "same", which pads with zeros, or "valid", which does not.
LayerKind conv_layer() {
  return {
      "conv", "\"conv 16 3x3\"", read_conv, true, false, "conv_dtype", "convolutions are computed in f32 all the same"};
}

}  // namespace shardscope
