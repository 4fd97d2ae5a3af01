#include <fmt/format.h>

#include "models/layer_readers.h"

namespace shardscope {

namespace {

constexpr const char* top_k_form = "such as \"top_k 2\", \"top_k 2 normalised\" or \"top_k 2 sigmoid scale 2.5\"";

void read_top_k(const Words& words, const LayersBefore& layers, ListedLayer& layer) {
  const Shape& scores = layer.before.shape;
  if (scores.size() > 2) {
    fail_layer("'top_k' is of the scores of a row or of a sequence of rows, got " + to_string(scores),
               "\"flatten\" makes a row of a picture");
  }
  const std::optional<int64_t> k = words.size() > 1 ? size_of(words[1]) : std::nullopt;
  if (!k) fail_layer("'top_k' takes a number of experts", top_k_form);
  if (*k > scores.back() || *k > 256) {
    fail_layer(fmt::format("{} of {} scores", *k, scores.back()), "at most as many as there are, and 256");
  }
  layer.choice.k = *k;
  for (size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "sigmoid") {
      layer.choice.score = TopKAttributes::Score::sigmoid;
    } else if (words[i] == "normalised") {
      layer.choice.normalise = true;
    } else if (words[i] == "scale" && i + 1 < words.size() && real_of(words[i + 1], 1e-6, 1e6)) {
      layer.choice.scale = *real_of(words[++i], 1e-6, 1e6);
    } else {
      fail_layer("'top_k' does not take '" + words[i] + "'", top_k_form);
    }
  }
  layer.kind = ListedLayer::Kind::top_k;
  layer.after = {ListedValue::Kind::choices, scores, layers.count()};
}

constexpr const char* dispatch_form =
    "such as \"r = top_k 2\", and later \"dispatch r from x\" or \"dispatch r from x capacity 1.25\"";

void read_dispatch(const Words& words, const LayersBefore& layers, ListedLayer& layer) {
  if (words.size() != 2 && words.size() != 4) fail_layer("'dispatch' takes the name of a top_k layer", dispatch_form);
  const int router = layers.find(words[1]);
  const ListedValue& choices = layers.value(router);
  if (choices.kind != ListedValue::Kind::choices) fail_layer("'" + words[1] + "' is no top_k layer", dispatch_form);
  if (words.size() == 4) {
    const std::optional<double> capacity = words[2] == "capacity" ? real_of(words[3], 1e-3, 1e3) : std::nullopt;
    if (!capacity) fail_layer("'dispatch' does not take '" + words[2] + " " + words[3] + "'", dispatch_form);
    layer.capacity = *capacity;
  }
  Shape tokens = layer.before.shape;
  tokens.back() = choices.shape.back();
  if (tokens != choices.shape) {
    fail_layer(fmt::format("'dispatch' of {} by choices of scores {}, which are those of '{}'",
                           to_string(layer.before.shape), to_string(choices.shape), words[1]),
               "scores of the same rows: only the last dimensions may differ");
  }
  layer.kind = ListedLayer::Kind::dispatch;
  layer.experts = choices.shape.back();
  layer.inputs.push_back(router);
  layer.after = {ListedValue::Kind::rows, layer.before.shape, layers.count()};
}

void require_rows(const Words& words, const ListedLayer& layer) {
  if (layer.before.kind == ListedValue::Kind::rows) return;
  fail_layer("'" + words[0] + "' is of rows that \"dispatch\" has sent to experts", dispatch_form);
}

void read_expert_linear(const Words& words, const LayersBefore&, ListedLayer& layer) {
  require_rows(words, layer);
  const std::optional<int64_t> features = words.size() == 2 ? size_of(words[1]) : std::nullopt;
  if (!features) fail_layer("'expert_linear' takes one width", "such as \"expert_linear 512\"");
  layer.kind = ListedLayer::Kind::expert_linear;
  layer.features = *features;
  layer.after.shape.back() = *features;
}

void read_combine(const Words& words, const LayersBefore&, ListedLayer& layer) {
  require_rows(words, layer);
  if (words.size() != 1) fail_layer("'combine' takes nothing", "write \"combine\"");
  layer.kind = ListedLayer::Kind::combine;
  layer.after = {ListedValue::Kind::array, layer.before.shape, -1};
}

}  // namespace

std::vector<LayerReader> expert_layer_readers() {
  return {{"top_k", read_top_k},
          {"dispatch", read_dispatch},
          {"expert_linear", read_expert_linear, true},
          {"combine", read_combine, true}};
}

}  // namespace shardscope
