#include "engine/ops/top_k.h"

#include <fmt/format.h>

#include "models/layer_rows.h"

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
  TopKAttributes choice;
  choice.k = *k;
  for (size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "sigmoid") {
      choice.score = TopKAttributes::Score::sigmoid;
    } else if (words[i] == "normalised") {
      choice.normalise = true;
    } else if (words[i] == "scale" && i + 1 < words.size() && real_of(words[i + 1], 1e-6, 1e6)) {
      choice.scale = *real_of(words[++i], 1e-6, 1e6);
    } else {
      fail_layer("'top_k' does not take '" + words[i] + "'", top_k_form);
    }
  }
  layer.after = {ListedValue::Kind::choices, scores, layers.count()};
  layer.build = [choice](LayerBuilder& builder) {
    const ValueId rows = as_sequence(builder.module, builder.inputs[0], "scores");
    const std::vector<ValueId> chosen = builder.module.append_all("top_k", {rows}, choice);
    builder.routes.back().choices = chosen[0];
    builder.routes.back().weights = chosen[1];
    return chosen[0];
  };
}

}  // namespace

// Choices of experts, of whose scores the last dimension is; then "sigmoid" (softmax where it is not there),
// "normalised" and "scale 2.5" (engine/ops/top_k.h).
LayerKind top_k_layer() { return {"top_k", "\"top_k 2\"", read_top_k}; }

}  // namespace shardscope
