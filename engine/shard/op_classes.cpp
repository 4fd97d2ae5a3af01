#include "engine/shard/op_classes.h"

#include <unordered_map>

#include "engine/shard/hash_mix.h"

namespace shardscope {

namespace {

constexpr int rounds = 2;

uint64_t hash_of(const AxisList& axes) {
  uint64_t hash = axes.count;
  for (AxisIndex axis : axes) hash = hash << 8 | axis;
  return hash;
}

uint64_t hash_of(const Sharding& sharding) {
  uint64_t hash = mix(sharding.rank, sharding.partial * 2u + static_cast<unsigned>(sharding.reduction));
  for (int d = 0; d < sharding.rank; ++d) hash = mix(hash, hash_of(sharding.dims[d]));
  return hash;
}

uint64_t hash_of(const Placement& placement) {
  uint64_t hash = placement.partial;
  for (const AxisList& axes : placement.factors) hash = mix(hash, hash_of(axes));
  return hash;
}

std::vector<uint64_t> first_colours(const LayoutProblem& problem, const OpKinds& kinds) {
  std::vector<uint64_t> colours;
  colours.reserve(kinds.of_op.size());
  for (size_t op = 0; op < kinds.of_op.size(); ++op) {
    const uint64_t kind = static_cast<uint64_t>(kinds.of_op[op]);
    colours.push_back(mix(kind, problem.start.placements.empty() ? 0 : hash_of(problem.start.placements[op])));
  }
  return colours;
}

// A value is known by its source or producer, its pin and, in any order, its readers.
std::vector<uint64_t> value_colours(const Graph& graph, const std::vector<uint64_t>& fixed,
                                    const std::vector<uint64_t>& ops) {
  std::vector<uint64_t> colours = fixed;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    const std::vector<ValueId>&inputs = graph.ops[op].inputs, &outputs = graph.ops[op].outputs;
    for (size_t i = 0; i < inputs.size(); ++i) colours[inputs[i]] += mix(ops[op], i);
    for (size_t i = 0; i < outputs.size(); ++i) colours[outputs[i]] += mix(ops[op], ~i);
  }
  return colours;
}

size_t distinct_count(const std::vector<uint64_t>& colours) {
  std::unordered_map<uint64_t, int> known;
  for (uint64_t colour : colours) known.try_emplace(colour);
  return known.size();
}

}  // namespace

OpClasses op_classes(const LayoutProblem& problem, const OpKinds& kinds) {
  const Graph& graph = problem.graph;
  std::vector<uint64_t> fixed(graph.values.size());
  for (size_t v = 0; v < fixed.size(); ++v) {
    fixed[v] = mix(static_cast<uint64_t>(graph.values[v].kind), problem.pins[v] ? hash_of(*problem.pins[v]) : 0);
  }
  std::vector<uint64_t> colours = first_colours(problem, kinds);
  size_t count = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<uint64_t> values = value_colours(graph, fixed, colours);
    for (size_t op = 0; op < colours.size(); ++op) {
      uint64_t colour = colours[op];
      for (ValueId value : graph.ops[op].inputs) colour = mix(colour, values[value]);
      for (ValueId value : graph.ops[op].outputs) colour = mix(colour, values[value]);
      colours[op] = colour;
    }
    const size_t refined = distinct_count(colours);
    if (refined == count) break;
    count = refined;
  }
  OpClasses classes;
  std::unordered_map<uint64_t, int> index;
  for (OpId op = 0; op < static_cast<OpId>(colours.size()); ++op) {
    auto [entry, added] = index.try_emplace(colours[op], static_cast<int>(classes.first.size()));
    if (added) classes.first.push_back(op), classes.size.push_back(0);
    ++classes.size[entry->second];
    classes.of_op.push_back(entry->second);
  }
  return classes;
}

}  // namespace shardscope
