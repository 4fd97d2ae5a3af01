#include "engine/shard/layout_tables.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace shardscope {

namespace {

// A state is made and updated where it lies, in whatever axis order its spec has.
std::vector<Placement> candidates(const LayoutProblem& problem, const Op& op, const FactorRule& rule,
                                  const std::vector<AxisIndex>& order) {
  const bool initialises = op.phase == Phase::initialise;
  if (!initialises && !op.definition->must_be_in_place()) return legal_placements(rule, problem.mesh, order);
  const ValueId stored = initialises ? op.outputs[0] : op.inputs[op.definition->in_place_operand(0)];
  const Sharding& pinned = *problem.pins[stored];
  const std::vector<DimensionFactors>& dims = initialises ? rule.results[0] : rule.operands[0];
  Placement placement;
  for (int d = 0; d < pinned.rank; ++d) add_dimension_axes(rule, dims[d], pinned.dims[d], problem.mesh, placement);
  return {placement};
}

// What one device does for a placement with these layouts.
float work_seconds(const LayoutProblem& problem, const LayoutCosts& costs, const Op& op,
                   const std::vector<int>& operands, const std::vector<int>& results) {
  std::vector<TensorType> operand_types, result_types;
  double bytes = 0;
  auto localise = [&](ValueId value, int layout) {
    TensorType type = problem.graph.type(value);
    type.shape = local_shape(costs.layout(layout), problem.mesh, type.shape);
    bytes += static_cast<double>(type.bytes());
    return type;
  };
  for (size_t i = 0; i < operands.size(); ++i) operand_types.push_back(localise(op.inputs[i], operands[i]));
  for (size_t i = 0; i < results.size(); ++i) result_types.push_back(localise(op.outputs[i], results[i]));
  double seconds = problem.rates.seconds_per_step + bytes * problem.rates.seconds_per_byte;
  if (op.definition->is_matrix_product()) {
    double flops = op.definition->flops(op.attributes, operand_types, result_types);
    seconds = std::max(seconds, flops * problem.rates.seconds_per_matrix_flop);
  }
  return static_cast<float>(seconds);
}

}  // namespace

std::vector<bool> bucketed_values(const Graph& graph, int64_t bucket_bytes) {
  std::vector<bool> bucketed(graph.values.size());
  for (StateId id : graph.trainable()) {
    const ValueId value = graph.states[id].before;
    if (graph.type(value).bytes() > bucket_bytes) continue;
    bucketed[value] = true;
    if (graph.states[id].gradient != no_id) bucketed[graph.states[id].gradient] = true;
  }
  return bucketed;
}

std::vector<ValueNode> value_nodes(const LayoutProblem& problem, LayoutCosts& costs) {
  const Graph& graph = problem.graph;
  std::vector<ValueNode> values(graph.values.size());
  const std::vector<bool> bucketed = bucketed_values(graph, problem.bucket_bytes);
  // Half of them are parameters, gathered together, half gradients, reduced together.
  const double share =
      2.0 / static_cast<double>(std::max<int64_t>(2, std::count(bucketed.begin(), bucketed.end(), true)));
  for (size_t v = 0; v < values.size(); ++v) {
    values[v].producer = graph.values[v].producer;
    values[v].result = graph.values[v].result_index;
    values[v].type = costs.type_id(graph.values[v].type, bucketed[v] ? share : 1);
    if (problem.pins[v]) values[v].pin = values[v].start = costs.layout_id(*problem.pins[v]);
    if (!problem.start.empty() && problem.start[v]) values[v].start = costs.layout_id(*problem.start[v]);
  }
  for (OpId op = 0; op < static_cast<OpId>(graph.ops.size()); ++op) {
    const std::vector<ValueId>& inputs = graph.ops[op].inputs;
    for (size_t i = 0; i < inputs.size(); ++i) values[inputs[i]].uses.emplace_back(op, static_cast<int>(i));
  }
  return values;
}

std::vector<OpNode> op_nodes(const LayoutProblem& problem, LayoutCosts& costs) {
  const Graph& graph = problem.graph;
  std::vector<OpNode> ops;
  std::vector<AxisIndex> order(problem.mesh.axis_count());
  std::iota(order.begin(), order.end(), AxisIndex{0});
  for (OpId id = 0; id < static_cast<OpId>(graph.ops.size()); ++id) {
    const Op& op = graph.ops[id];
    const FactorRule& rule = problem.rules[id];
    OpNode node;
    for (const Placement& placement : candidates(problem, op, rule, order)) {
      std::vector<int> operands, results;
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        operands.push_back(costs.layout_id(operand_sharding(rule, placement, static_cast<int>(i))));
      }
      for (size_t i = 0; i < op.outputs.size(); ++i) {
        results.push_back(costs.layout_id(result_sharding(rule, placement, static_cast<int>(i))));
      }
      node.placements.push_back(placement);
      node.operands.push_back(std::move(operands));
      node.results.push_back(std::move(results));
      node.seconds.push_back(work_seconds(problem, costs, op, node.operands.back(), node.results.back()));
    }
    node.touched = op.inputs;
    node.touched.insert(node.touched.end(), op.outputs.begin(), op.outputs.end());
    std::sort(node.touched.begin(), node.touched.end());
    node.touched.erase(std::unique(node.touched.begin(), node.touched.end()), node.touched.end());
    ops.push_back(std::move(node));
  }
  return ops;
}

std::vector<DimensionClass> dimension_classes(const LayoutProblem& problem, const std::vector<ValueNode>& values) {
  const int op_count = static_cast<int>(problem.graph.ops.size());
  std::vector<int> parent(static_cast<size_t>(op_count) * FactorRule::max_factors);
  std::iota(parent.begin(), parent.end(), 0);
  auto find = [&](int node) {
    while (parent[node] != node) node = parent[node] = parent[parent[node]];
    return node;
  };
  const Graph& graph = problem.graph;
  for (size_t v = 0; v < values.size(); ++v) {
    for (size_t d = 0; d < graph.values[v].type.shape.size(); ++d) {
      int first = -1;
      auto join = [&](OpId op, const std::vector<DimensionFactors>& dims) {
        if (dims[d].empty()) return;
        int node = find(op * FactorRule::max_factors + dims[d][0]);
        if (first < 0) first = node;
        parent[node] = find(first);
      };
      if (values[v].producer != no_id) {
        join(values[v].producer, problem.rules[values[v].producer].results[values[v].result]);
      }
      for (auto [op, operand] : values[v].uses) join(op, problem.rules[op].operands[operand]);
    }
  }
  std::map<int, DimensionClass> classes;
  for (OpId op = 0; op < op_count; ++op) {
    for (size_t f = 0; f < problem.rules[op].factors.size(); ++f) {
      int factor = static_cast<int>(f);
      classes[find(op * FactorRule::max_factors + factor)].emplace_back(op, factor);
    }
  }
  std::vector<DimensionClass> result;
  for (auto& [root, members] : classes) result.push_back(std::move(members));
  return result;
}

}  // namespace shardscope
