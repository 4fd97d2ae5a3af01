#include "models/losses.h"

#include "engine/ops/registry.h"
#include "engine/ops/scale.h"

namespace shardscope {

namespace {

std::vector<ValueId> append(Graph& graph, const std::string& op, std::vector<ValueId> inputs,
                            Attributes attributes = {}) {
  return graph
      .ops[graph.add_op(op_definition(op), "loss/" + op, Phase::forward, std::move(inputs), std::move(attributes))]
      .outputs;
}

ScaleAttributes mean_over(const Graph& graph, ValueId value) {
  return {1.0 / static_cast<double>(element_count(graph.type(value).shape))};
}

}  // namespace

CrossEntropy mean_cross_entropy(Graph& graph, ValueId logits, ValueId labels, ValueId weights) {
  const ValueId top = append(graph, "row_max", {logits})[0];
  const std::vector<ValueId> terms = append(graph, "cross_entropy_terms", {logits, labels, top});
  std::vector<ValueId> inputs{top, terms[0], terms[1], terms[2], labels};
  if (weights != no_id) inputs.push_back(weights);
  const std::vector<ValueId> results = append(graph, "cross_entropy", inputs, mean_over(graph, labels));
  return {results[0], results[1]};
}

CrossEntropy mean_next_token_cross_entropy(Graph& graph, ValueId logits, ValueId tokens) {
  const std::vector<ValueId> next = append(graph, "next_token", {tokens});
  return mean_cross_entropy(graph, logits, next[0], next[1]);
}

ValueId mean_squared_error(Graph& graph, ValueId x, ValueId y) {
  return append(graph, "squared_error", {x, y}, mean_over(graph, x))[0];
}

TokenPair add_tokens_and_labels(Graph& graph, int64_t batch, int64_t length, int64_t vocabulary) {
  const TensorType type{{batch, length}, DType::i32};
  graph.limits = {{"tokens", vocabulary}, {"labels", vocabulary}};
  const ValueId tokens = graph.add_input("tokens", type);
  return {tokens, graph.add_input("labels", type)};
}

void set_outputs(Graph& graph, ValueId logits, const CrossEntropy& loss) {
  graph.outputs = {{"logits", logits}, {"loss", loss.loss}, {"accuracy", loss.accuracy}};
}

void set_regression_outputs(Graph& graph, ValueId predictions, ValueId targets) {
  graph.outputs = {{"predictions", predictions}, {"loss", mean_squared_error(graph, predictions, targets)}};
}

}  // namespace shardscope
