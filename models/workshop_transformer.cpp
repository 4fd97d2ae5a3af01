#include "models/workshop_transformer.h"

#include <fmt/format.h>

#include <optional>

#include "engine/ops/attention.h"
#include "engine/ops/stack.h"
#include "models/compute_dtype.h"
#include "models/initialisers.h"
#include "models/losses.h"
#include "models/module.h"
#include "models/multiple_of.h"
#include "models/nnx_rngs.h"

namespace shardscope {

namespace {

struct Linear {
  ValueId weight, bias;
};

// The bias has the dimensions of the weight that the input lacks.
Linear linear(const Module& module, NnxRngs& rngs, Shape shape, std::vector<std::string> logical, int64_t inputs = 1) {
  int64_t fan = 1;
  for (int64_t d = 0; d < inputs; ++d) fan *= shape[static_cast<size_t>(d)];
  const Shape bias(shape.begin() + inputs, shape.end());
  const std::vector<std::string> bias_logical(logical.begin() + inputs, logical.end());
  const ValueId weight = module.parameter("weight", rngs.draw(lecun_normal(fan, std::move(shape))), std::move(logical));
  return {weight, module.parameter("bias", constant_initialiser(0, bias), bias_logical)};
}

ValueId apply(const Module& module, const Linear& layer, ValueId x, const Equation& equation) {
  return module.add(module.product(x, layer.weight, equation), layer.bias);
}

struct Norm {
  ValueId scale, bias;
};

Norm norm(const Module& module, NnxRngs& rngs, int64_t features) {
  const ValueId scale = module.parameter("scale", rngs.skip(constant_initialiser(1, {features})), {"hidden"});
  return {scale, module.parameter("bias", rngs.skip(constant_initialiser(0, {features})), {"hidden"})};
}

ValueId apply(const Module& module, const Norm& norm, ValueId x) { return module.layer_norm(x, norm.scale, norm.bias); }

// Queries, keys and values (b, s, 3, heads, size) of x (b, s, hidden).
ValueId fused(const Module& module, const Linear& layer, ValueId x, int64_t heads, bool flat) {
  if (!flat) return apply(module, layer, x, "bse,ethd->bsthd");
  return module.append("rearrange", {apply(module, layer, x, "bse,ef->bsf")},
                       EquationAttributes{"bs(thd)->bsthd", {{'t', 3}, {'h', heads}}});
}

bool is_flat(const OptionList& options) { return string_option(options, "qkv_layout") == "flat"; }

Graph build_workshop_transformer(const OptionList& options, const ModelContext& context) {
  const int64_t hidden = integer_option(options, "hidden_size"), heads = integer_option(options, "num_heads");
  const int64_t ffn = integer_option(options, "ffn_hidden_size"), size = hidden / heads;
  const bool norms = bool_option(options, "norms"), residuals = bool_option(options, "residuals");
  Graph graph;
  const TensorType type{{context.batch_size, integer_option(options, "seq_len"), hidden}, DType::f32};
  const ValueId inputs = graph.add_input("inputs", type), targets = graph.add_input("targets", type);
  for (ValueId value : {inputs, targets}) graph.values[value].logical = {"batch", "sequence", "hidden"};

  const Module model(graph, compute_dtype(options));
  NnxRngs rngs(context.seed);
  const auto append_layer = [&](const Module& layer, int number, ValueId x) {
    const Module qkv_proj = layer.child("qkv_proj"), output_proj = layer.child("output_proj");
    const Module ffn_layer1 = layer.child("ffn_layer1"), ffn_layer2 = layer.child("ffn_layer2");
    const Module ln1 = layer.child("ln1"), ln2 = layer.child("ln2");
    const Linear qkv = is_flat(options) ? linear(qkv_proj, rngs, {hidden, 3 * hidden}, {"hidden", "qkv"})
                                        : linear(qkv_proj, rngs, {hidden, 3, heads, size}, {"hidden", "", "heads", ""});
    const Linear output = linear(output_proj, rngs, {hidden, hidden}, {"heads", "hidden"});
    Linear up{}, down{};
    if (ffn > 0) up = linear(ffn_layer1, rngs, {hidden, ffn}, {"hidden", "ffn"});
    if (ffn > 0) down = linear(ffn_layer2, rngs, {ffn, hidden}, {"ffn", "hidden"});
    std::optional<Norm> norm1;
    if (norms) norm1 = norm(ln1, rngs, hidden);

    auto attention = [&](ValueId y) {
      const ValueId all = qkv_proj.cast(fused(qkv_proj, qkv, y, heads, is_flat(options)), DType::f32);
      const ValueId context_of_heads =
          layer.attention(layer.append_all("unstack", {all}, StackAttributes{2, 3}), {})[0];
      const ValueId joined =
          layer.append("rearrange", {context_of_heads}, EquationAttributes{"bshd->bs(hd)"}, "context");
      return apply(output_proj, output, joined, "bsf,fe->bse");
    };
    auto mlp = [&](ValueId y) {
      const PlaceScope part(graph, LayerPart::mlp);
      y = layer.append("gelu", {apply(ffn_layer1, up, y, "bse,ef->bsf")});
      return apply(ffn_layer2, down, y, "bsf,fe->bse");
    };
    const auto result = [&](ValueId input, ValueId y) {
      return residuals ? layer.add(input, y, "residual") : layer.cast(y, DType::f32);
    };
    const PlaceScope place(graph, number);
    x = result(x, attention(norms ? apply(ln1, *norm1, x) : x));
    if (ffn == 0) return x;
    return result(x, mlp(norms ? apply(ln2, norm(ln2, rngs, hidden), x) : x));
  };
  const int layers = static_cast<int>(integer_option(options, "num_layers"));
  ValueId x = inputs;
  for (int number = 0; number < layers; ++number) {
    x = append_layer(layers == 1 ? model : model.child("layers").child(std::to_string(number)), number, x);
  }
  graph.values[x].logical = graph.values[inputs].logical;
  set_regression_outputs(graph, x, targets);
  return graph;
}

std::vector<Error> check_workshop_transformer(const OptionList& options) {
  std::vector<Error> errors;
  require_multiple(options, "hidden_size", "num_heads", errors);
  return errors;
}

std::vector<Error> workshop_transformer_notes(const OptionList& options) {
  if (!is_flat(options)) return {};
  const int64_t hidden = integer_option(options, "hidden_size"), heads = integer_option(options, "num_heads");
  return {
      {"split_heads",
       fmt::format("the flat ({}, {}) kernel holds all queries, then all keys, then all values: cut into equal parts, "
                   "none holds the queries, keys and values of its own heads, and attention has to gather them",
                   hidden, 3 * hidden),
       "model.qkv_layout",
       fmt::format("\"heads\": ({}, 3, {}, {}), split along the heads", hidden, heads, hidden / heads)}};
}

std::vector<std::pair<std::string, std::vector<std::string>>> workshop_transformer_captions(const OptionList& options) {
  if (integer_option(options, "num_layers") > 1) {
    return {{"layers/0/qkv_proj, bias", {"params", "layers", "0", "qkv_proj", "bias"}},
            {"layers/0/output_proj, weight", {"params", "layers", "0", "output_proj", "weight"}}};
  }
  return {{"qkv_proj, bias", {"params", "qkv_proj", "bias"}},
          {"output_proj, weight", {"params", "output_proj", "weight"}}};
}

}  // namespace

ModelDefinition workshop_transformer() {
  return {"workshop_transformer",
          "the tensor-parallel layer of \"Model Parallelism\" (Workshop), one or several, with mean squared error",
          {{"seq_len", int64_t{128}, true, 1, 1e7, "positions in a sequence"},
           {"hidden_size", int64_t{768}, true, 1, 1e7, "width of the residual stream"},
           {"num_heads", int64_t{12}, true, 1, 1e5, "attention heads; divides hidden_size"},
           {"ffn_hidden_size", int64_t{3072}, false, 0, 1e7, "width of the feed-forward block; 0: there is none"},
           {"num_layers", int64_t{1}, false, 1, 1e4,
            "layers, one behind the other; of several each has a folder of its own"},
           {"qkv_layout",
            std::string("heads"),
            false,
            0,
            0,
            "of the fused kernel: \"heads\", or \"flat\" as the document",
            {"heads", "flat"}},
           {"norms", true, false, 0, 0, "a layer norm before attention and before the feed-forward block"},
           {"residuals", true, false, 0, 0, "each of the two adds its input to its result"},
           compute_dtype_option()},
          check_workshop_transformer,
          build_workshop_transformer,
          workshop_transformer_captions,
          {},
          workshop_transformer_notes};
}

}  // namespace shardscope
