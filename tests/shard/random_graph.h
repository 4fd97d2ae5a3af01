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
#include "engine/ops/registry.h"

namespace shardscope::test {

// A small random network on a random mesh: products, additions and gelus over arrays (b, s, e) of different widths,
// then a cross-entropy; differentiated and updated by Adam. Parameters, inputs and some values have random pins that
// divide.
struct RandomGraph {
  Graph graph;
  Mesh mesh;
  std::vector<FactorRule> rules;              // per op
  std::vector<std::optional<Sharding>> pins;  // sources and some forward results
  std::vector<ValueId> cotangents;

  std::vector<int> kept() const { return {graph.outputs.at("loss"), graph.outputs.at("accuracy")}; }
};

class RandomGraphs {
 public:
  explicit RandomGraphs(uint32_t seed) : random_(seed) {}

  RandomGraph next() {
    RandomGraph result;
    result.mesh = mesh();
    Graph& graph = result.graph;
    parameters_ = 0;
    const int64_t batch = pick({4, 6, 12}), sequence = pick({2, 4, 6});
    ValueId tokens = graph.inputs["tokens"] =
        graph.add_source("tokens", {{batch, sequence}, DType::i32}, ValueKind::input);
    ValueId labels = graph.inputs["labels"] =
        graph.add_source("labels", {{batch, sequence}, DType::i32}, ValueKind::input);
    std::vector<ValueId> arrays{apply(graph, "embedding", {tokens, parameter(graph, {pick({12, 24}), width()})})};
    for (int64_t i = 0, count = 2 + below(8); i < count; ++i) arrays.push_back(layer(graph, arrays));
    for (size_t i = 0; i + 1 < arrays.size(); ++i) arrays.back() = joined(graph, arrays.back(), arrays[i]);
    OpId loss = graph.add_op(op_definition("cross_entropy"), "loss", Phase::forward, {arrays.back(), labels},
                             {{"scale", 1.0 / static_cast<double>(batch * sequence)}});
    graph.outputs["loss"] = graph.ops[loss].outputs[0];
    graph.outputs["accuracy"] = graph.ops[loss].outputs[1];
    graph.outputs["logits"] = arrays.back();
    const size_t forward_values = graph.values.size();
    result.cotangents = differentiate(graph, graph.outputs["loss"], op_definition("add"));
    update(graph);
    add_rules(result);
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

  // Adam for every parameter.
  static void update(Graph& graph) {
    const Attributes attributes{{"learning_rate", 1e-3}, {"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-8}};
    for (Parameter& parameter : graph.parameters) {
      const TensorType type = graph.type(parameter.value);
      const std::string name = graph.values[parameter.value].name;
      for (const char* state : {"mu/", "nu/"}) {
        parameter.state.push_back(graph.add_source(state + name, type, ValueKind::optimizer_state));
      }
      const OpId op =
          graph.add_op(op_definition("adam"), name + "/adam", Phase::update,
                       {parameter.value, parameter.gradient, parameter.state[0], parameter.state[1]}, attributes);
      parameter.updated = graph.ops[op].outputs[0];
      parameter.updated_state = {graph.ops[op].outputs[1], graph.ops[op].outputs[2]};
    }
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
    Parameter made;
    made.path = {"params", "p" + std::to_string(parameters_++)};
    made.value = graph.add_source(made.path.back(), {std::move(shape), DType::f32}, ValueKind::parameter);
    graph.parameters.push_back(made);
    return made.value;
  }

  ValueId apply(Graph& graph, const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const std::string name = op + std::to_string(graph.ops.size());
    return graph.ops[graph.add_op(op_definition(op), name, Phase::forward, std::move(inputs), std::move(attributes))]
        .outputs[0];
  }

  ValueId project(Graph& graph, ValueId x, int64_t width) {
    return apply(graph, "einsum", {x, parameter(graph, {graph.type(x).shape[2], width})},
                 {{"equation", std::string("bse,ef->bsf")}});
  }

  // x + y, through a product where their widths differ.
  ValueId joined(Graph& graph, ValueId x, ValueId y) {
    const int64_t width = graph.type(x).shape[2];
    if (graph.type(y).shape[2] != width) y = project(graph, y, width);
    return apply(graph, "add", {x, y}, {{"equation", std::string("bse,bse->bse")}});
  }

  ValueId layer(Graph& graph, const std::vector<ValueId>& arrays) {
    const ValueId x = arrays[below(static_cast<int64_t>(arrays.size()))];
    const Shape shape = graph.type(x).shape;
    switch (below(5)) {
      case 0: return apply(graph, "gelu", {x});
      case 1: return apply(graph, "add", {x, parameter(graph, {shape[2]})}, {{"equation", std::string("bse,e->bse")}});
      // A parameter whose gradient is the cotangent of the sum itself.
      case 2: return apply(graph, "add", {x, parameter(graph, shape)}, {{"equation", std::string("bse,bse->bse")}});
      case 3: return joined(graph, x, arrays[below(static_cast<int64_t>(arrays.size()))]);
      default: return project(graph, x, width());
    }
  }

  static void add_rules(RandomGraph& result) {
    for (const Op& op : result.graph.ops) {
      std::vector<TensorType> operands, results;
      for (ValueId input : op.inputs) operands.push_back(result.graph.type(input));
      for (ValueId output : op.outputs) results.push_back(result.graph.type(output));
      result.rules.push_back(op.definition->factors(op.attributes, operands, results));
    }
  }

  void add_pins(RandomGraph& result, size_t forward_values) {
    result.pins.resize(result.graph.values.size());
    for (size_t v = 0; v < result.pins.size(); ++v) {
      const Value& value = result.graph.values[v];
      const bool source = value.kind != ValueKind::result;
      if (source || (v < forward_values && below(6) == 0)) result.pins[v] = sharding(result.mesh, value.type.shape);
    }
    for (const Parameter& parameter : result.graph.parameters) {
      for (ValueId state : parameter.state) result.pins[state] = result.pins[parameter.value];
    }
  }

  std::mt19937 random_;
  int parameters_ = 0;
};

}  // namespace shardscope::test
