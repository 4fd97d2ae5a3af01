#include "tests/ops/network.h"

#include "engine/ops/initialise.h"
#include "engine/ops/registry.h"
#include "models/losses.h"

namespace shardscope::test {

ValueId cross_entropy(Graph& graph, ValueId logits, ValueId labels) {
  return mean_cross_entropy(graph, logits, labels).loss;
}

std::vector<ValueId> append_op(Graph& graph, const std::string& op, std::vector<ValueId> inputs,
                               Attributes attributes) {
  return graph.ops[graph.add_op(op_definition(op), op, Phase::forward, std::move(inputs), std::move(attributes))]
      .outputs;
}

ValueId append(Graph& graph, const std::string& op, std::vector<ValueId> inputs, Attributes attributes) {
  return append_op(graph, op, std::move(inputs), std::move(attributes))[0];
}

ValueId parameter(Graph& graph, const std::string& name, const Shape& shape) {
  const InitialiseAttributes one{InitialiseAttributes::Kind::constant, 1, {}, {shape, DType::f32}};
  State& state = graph.states[graph.add_state(op_definition("initialise"), one, "params", {"params", name})];
  state.trainable = true;
  return state.before;
}

ValueId square_dense(const Linen& module, ValueId x) {
  return module.dense(x, "bse,ef->bsf", {width, width}, {"embed", "mlp"});
}

ValueId no_layer(Graph&, const Linen&, ValueId x, ValueId) { return x; }
ValueId dense_layer(Graph&, const Linen& m, ValueId x, ValueId) { return square_dense(m, x); }

Layer behind_dense(const char* op, Attributes attributes) {
  return [=](Graph& graph, const Linen& m, ValueId x, ValueId) {
    return append(graph, op, {square_dense(m, x)}, attributes);
  };
}

ValueId weighted_cross_entropy(Graph& graph, ValueId logits, ValueId labels) {
  const ValueId weights = graph.add_input("weights", {{batch, sequence}, DType::f32});
  return mean_cross_entropy(graph, logits, labels, weights).loss;
}

ValueId squared_error(Graph& graph, ValueId logits, ValueId) {
  return mean_squared_error(graph, logits, graph.add_input("target", graph.type(logits)));
}

}  // namespace shardscope::test
