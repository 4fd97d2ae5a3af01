#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/graph/autodiff.h"
#include "engine/graph/op_definition.h"
#include "engine/mesh/mesh.h"
#include "engine/mesh/sharding.h"
#include "engine/ops/adam.h"
#include "engine/ops/constant.h"
#include "engine/ops/equation.h"
#include "engine/ops/initialise.h"
#include "engine/ops/registry.h"
#include "engine/ops/scale.h"

namespace shardscope::test {

// A small random network on a random mesh: products, additions, gelus and split heads over arrays (b, s, e) of
// different widths, then a cross-entropy; differentiated and updated by Adam. Parameters, inputs and some values have
// random pins that divide.
struct RandomGraph {
  Graph graph;
  Mesh mesh;
  std::vector<std::optional<Sharding>> pins;  // sources and some forward results
  std::vector<ValueId> cotangents;

  std::vector<int> kept() const { return {graph.outputs.at("loss"), graph.outputs.at("accuracy")}; }
  // What follows a parameter is laid out as it, and first values as they are stored.
  void pin_states() {
    for (const State& state : graph.states) {
      if (state.follows != no_id) pins[state.before] = pins[graph.states[state.follows].before];
      pins[state.initial] = pins[state.before];
    }
  }
  // The parameters' gradients.
  std::vector<ValueId> gradients() const {
    std::vector<ValueId> result;
    for (StateId id : graph.trainable()) result.push_back(cotangents[graph.states[id].before]);
    return result;
  }
  // True of the first value of a state, which is no part of the step.
  bool is_initial(ValueId value) const {
    const OpId producer = graph.values[value].producer;
    return producer != no_id && graph.ops[producer].phase == Phase::initialise;
  }
};

// A parameter of zeros.
inline ValueId add_parameter(Graph& graph, const std::string& name, Shape shape) {
  const InitialiseAttributes zeros{InitialiseAttributes::Kind::constant, 0, {}, {std::move(shape), DType::f32}};
  State& made = graph.states[graph.add_state(op_definition("initialise"), zeros, "params", {"params", name})];
  made.trainable = true;
  return made.before;
}

// Outputs "loss" and "accuracy".
inline void add_loss(Graph& graph, ValueId logits, ValueId labels) {
  auto append = [&](const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return graph
        .ops[graph.add_op(op_definition(op), "loss/" + op, Phase::forward, std::move(inputs), std::move(attributes))]
        .outputs;
  };
  const double rows = static_cast<double>(element_count(graph.type(labels).shape));
  const ValueId top = append("row_max", {logits})[0];
  const std::vector<ValueId> terms = append("cross_entropy_terms", {logits, labels, top});
  const std::vector<ValueId> results =
      append("cross_entropy", {top, terms[0], terms[1], terms[2], labels}, ScaleAttributes{1 / rows});
  graph.outputs["loss"] = results[0];
  graph.outputs["accuracy"] = results[1];
}

// Updates every parameter by Adam.
inline void update(Graph& graph, const std::vector<ValueId>& cotangents) {
  for (StateId id : graph.trainable()) {
    const ValueId before = graph.states[id].before;
    std::vector<ValueId> operands{before, cotangents[before]};
    std::vector<StateId> changed{id};
    for (const char* collection : {"optimizer/mu", "optimizer/nu"}) {
      const InitialiseAttributes zeros{InitialiseAttributes::Kind::constant, 0, {}, graph.type(before)};
      const std::vector<std::string> path = graph.states[id].path;
      changed.push_back(graph.add_state(op_definition("initialise"), zeros, collection, path));
      graph.states[changed.back()].follows = id;
      operands.push_back(graph.states[changed.back()].before);
    }
    const OpId op = graph.add_op(op_definition("adam"), graph.name(graph.states[id]) + "/adam", Phase::update, operands,
                                 AdamAttributes{});
    for (size_t i = 0; i < changed.size(); ++i) graph.states[changed[i]].after = graph.ops[op].outputs[i];
  }
}

// Differentiates the output "loss" and updates every parameter by Adam. Returns the cotangents.
inline std::vector<ValueId> train(Graph& graph) {
  const ValueId loss = graph.outputs.at("loss");
  const OpId one = graph.add_op(op_definition("constant"), "loss/scale", Phase::backward, {},
                                ConstantAttributes{1, graph.type(loss)});
  const CotangentSeed seed{loss, graph.ops[one].outputs[0]};
  std::vector<ValueId> cotangents = differentiate(graph, {&seed, 1}, op_definition("add"), sum_attributes);
  update(graph, cotangents);
  return cotangents;
}

class RandomGraphs {
 public:
  explicit RandomGraphs(uint32_t seed, bool with_heads = true) : random_(seed), with_heads_(with_heads) {}

  RandomGraph next() {
    RandomGraph result;
    result.mesh = mesh();
    Graph& graph = result.graph;
    parameters_ = 0;
    const int64_t batch = pick({4, 6, 12}), sequence = pick({2, 4, 6});
    const TensorType rows{{batch, sequence}, DType::i32};
    const ValueId tokens = graph.add_input("tokens", rows), labels = graph.add_input("labels", rows);
    std::vector<ValueId> arrays{apply(graph, "embedding", {tokens, parameter(graph, {pick({12, 24}), width()})})};
    for (int64_t i = 0, count = 2 + below(8); i < count; ++i) arrays.push_back(layer(graph, arrays));
    for (size_t i = 0; i + 1 < arrays.size(); ++i) arrays.back() = joined(graph, arrays.back(), arrays[i]);
    add_loss(graph, arrays.back(), labels);
    graph.outputs["logits"] = arrays.back();
    const size_t forward_values = graph.values.size();
    result.cotangents = train(graph);
    add_pins(result, forward_values);
    return result;
  }

  int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }

  Sharding sharding(const Mesh& mesh, const Shape& shape) {
    Sharding result = Sharding::replicated(static_cast<int>(shape.size()));
    std::vector<AxisIndex> axes(mesh.axis_count());
    std::iota(axes.begin(), axes.end(), AxisIndex{0});
    std::shuffle(axes.begin(), axes.end(), random_);
    for (AxisIndex axis : axes) {
      const int64_t dim = below(result.rank + 1);
      if (dim == result.rank || mesh.axis_size(axis) == 1) continue;
      if (shape[dim] % (shard_count(result, mesh, static_cast<int>(dim)) * mesh.axis_size(axis)) == 0) {
        result.dims[dim].push_back(axis);
      }
    }
    return result;
  }

 private:
  int64_t pick(const std::vector<int64_t>& choices) { return choices[below(static_cast<int64_t>(choices.size()))]; }
  int64_t width() { return pick({6, 8, 12}); }

  Mesh mesh() {
    std::vector<MeshAxis> axes;
    for (int64_t i = 0, count = 1 + below(3); i < count; ++i) {
      axes.push_back({std::string(1, static_cast<char>('a' + i)), pick({1, 2, 2, 3, 4})});
    }
    return Mesh(axes);
  }

  ValueId parameter(Graph& graph, Shape shape) {
    return add_parameter(graph, "p" + std::to_string(parameters_++), std::move(shape));
  }

  ValueId apply(Graph& graph, const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const std::string name = op + std::to_string(graph.ops.size());
    return graph.ops[graph.add_op(op_definition(op), name, Phase::forward, std::move(inputs), std::move(attributes))]
        .outputs[0];
  }

  ValueId project(Graph& graph, ValueId x, int64_t width) {
    return apply(graph, "einsum", {x, parameter(graph, {graph.type(x).shape[2], width})},
                 EquationAttributes{"bse,ef->bsf"});
  }

  // x + y, through a product where their widths differ.
  ValueId joined(Graph& graph, ValueId x, ValueId y) {
    const int64_t width = graph.type(x).shape[2];
    if (graph.type(y).shape[2] != width) y = project(graph, y, width);
    return apply(graph, "add", {x, y}, EquationAttributes{"bse,bse->bse"});
  }

  ValueId through_heads(Graph& graph, ValueId x) {
    const EquationAttributes split{"bs(hd)->bshd", {{'h', graph.type(x).shape[2] / pick({1, 2})}}};
    const ValueId heads = apply(graph, "gelu", {apply(graph, "rearrange", {x}, split)});
    return apply(graph, "rearrange", {heads}, EquationAttributes{"bshd->bs(hd)"});
  }

  ValueId layer(Graph& graph, const std::vector<ValueId>& arrays) {
    const ValueId x = arrays[below(static_cast<int64_t>(arrays.size()))];
    const Shape shape = graph.type(x).shape;
    switch (below(with_heads_ ? 6 : 5)) {
      case 0: return apply(graph, "gelu", {x});
      case 1: return apply(graph, "add", {x, parameter(graph, {shape[2]})}, EquationAttributes{"bse,e->bse"});
      // A parameter whose gradient is the cotangent of the sum itself.
      case 2: return apply(graph, "add", {x, parameter(graph, shape)}, EquationAttributes{"bse,bse->bse"});
      case 3: return joined(graph, x, arrays[below(static_cast<int64_t>(arrays.size()))]);
      case 4: return project(graph, x, width());
      default: return through_heads(graph, x);
    }
  }

  void add_pins(RandomGraph& result, size_t forward_values) {
    result.pins.resize(result.graph.values.size());
    for (size_t v = 0; v < result.pins.size(); ++v) {
      const Value& value = result.graph.values[v];
      if (result.is_initial(static_cast<ValueId>(v))) continue;
      const bool source = value.kind != ValueKind::result;
      if (source || (v < forward_values && below(6) == 0)) result.pins[v] = sharding(result.mesh, value.type.shape);
    }
    result.pin_states();
  }

  std::mt19937 random_;
  bool with_heads_;
  int parameters_ = 0;
};

}  // namespace shardscope::test
