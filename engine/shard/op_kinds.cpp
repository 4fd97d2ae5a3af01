#include "engine/shard/op_kinds.h"

#include <algorithm>
#include <unordered_map>

#include "engine/shard/hash_mix.h"

namespace shardscope {

namespace {

uint64_t hash_of(const std::vector<std::vector<DimensionFactors>>& arrays, uint64_t hash) {
  for (const std::vector<DimensionFactors>& dims : arrays) {
    hash = mix(hash, dims.size());
    for (const DimensionFactors& dimension : dims) {
      hash = mix(hash, dimension.size());
      for (int factor : dimension) hash = mix(hash, static_cast<uint64_t>(factor));
    }
  }
  return hash;
}

// The factors have the sizes of the operands' and results' dimensions.
uint64_t hash_of(const Graph& graph, const Op& op, const FactorRule& rule) {
  uint64_t hash = mix(reinterpret_cast<uintptr_t>(op.definition), static_cast<uint64_t>(op.phase));
  for (const Factor& factor : rule.factors) {
    hash = mix(hash, static_cast<uint64_t>(factor.size) * 512 + static_cast<uint8_t>(factor.label) * 2u +
                         (factor.splittable ? 1u : 0u));
  }
  hash = hash_of(rule.results, hash_of(rule.operands, hash));
  for (ValueId value : op.inputs) hash = mix(hash, static_cast<uint64_t>(graph.type(value).dtype));
  for (ValueId value : op.outputs) hash = mix(hash, static_cast<uint64_t>(graph.type(value).dtype));
  return hash;
}

bool same_types(const Graph& graph, const std::vector<ValueId>& a, const std::vector<ValueId>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](ValueId x, ValueId y) { return graph.type(x) == graph.type(y); });
}

bool same_rule(const FactorRule& a, const FactorRule& b) {
  return &a == &b || (a.linear == b.linear && a.operands == b.operands && a.results == b.results &&
                      a.reductions == b.reductions && a.factors == b.factors);
}

}  // namespace

OpKinds op_kinds(const Graph& graph, const std::vector<FactorRule>& rules) {
  OpKinds kinds;
  kinds.of_op.reserve(graph.ops.size());
  std::unordered_multimap<uint64_t, int> known;
  for (OpId id = 0; id < static_cast<OpId>(graph.ops.size()); ++id) {
    const Op& op = graph.ops[id];
    const uint64_t hash = hash_of(graph, op, rules[id]);
    auto [candidate, end] = known.equal_range(hash);
    while (candidate != end) {
      const OpId first = kinds.first[candidate->second];
      const Op& other = graph.ops[first];
      if (op.definition == other.definition && op.phase == other.phase && same_types(graph, op.inputs, other.inputs) &&
          same_types(graph, op.outputs, other.outputs) && same_rule(rules[id], rules[first]))
        break;
      ++candidate;
    }
    if (candidate == end) {
      candidate = known.emplace(hash, static_cast<int>(kinds.first.size()));
      kinds.first.push_back(id);
    }
    kinds.of_op.push_back(candidate->second);
  }
  return kinds;
}

}  // namespace shardscope
