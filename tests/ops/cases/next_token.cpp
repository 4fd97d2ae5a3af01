#include "models/losses.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

ValueId next_token_cross_entropy(Graph& graph, ValueId logits, ValueId) {
  return mean_next_token_cross_entropy(graph, logits, graph.inputs.at("tokens")).loss;
}

}  // namespace

OpCases next_token_cases() {
  OpCases all;
  all.cases = {{"next_token", {large::ids}}};
  all.small_cases = {{"next_token", {small::ids}}};
  all.networks = {{"next-token cross-entropy", 0, no_layer, next_token_cross_entropy}};
  return all;
}

}  // namespace shardscope::test
