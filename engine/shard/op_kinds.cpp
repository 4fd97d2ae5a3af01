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

bool alike(const Graph& graph, OpId a, OpId b) {
  const Op &one = graph.ops[a], &other = graph.ops[b];
  return one.definition == other.definition && one.phase == other.phase &&
         same_types(graph, one.inputs, other.inputs) && same_types(graph, one.outputs, other.outputs) &&
         same_rule(graph.rule(a), graph.rule(b));
}

}  // namespace

OpKinds op_kinds(const Graph& graph) {
  OpKinds kinds;
  kinds.of_op.reserve(graph.ops.size());
  std::unordered_map<uint64_t, int> by_signature;
  std::unordered_multimap<uint64_t, int> known;
  for (OpId id = 0; id < static_cast<OpId>(graph.ops.size()); ++id) {
    const Op& op = graph.ops[id];
    const uint64_t signature = static_cast<uint64_t>(op.signature) << 8 | static_cast<uint64_t>(op.phase);
    const auto [kind, is_new] = by_signature.try_emplace(signature);
    if (is_new) {
      const uint64_t hash = hash_of(graph, op, graph.rule(id));
      auto [candidate, end] = known.equal_range(hash);
      while (candidate != end && !alike(graph, id, kinds.first[candidate->second])) ++candidate;
      if (candidate == end) {
        candidate = known.emplace(hash, static_cast<int>(kinds.first.size()));
        kinds.first.push_back(id);
      }
      kind->second = candidate->second;
    }
    kinds.of_op.push_back(kind->second);
  }
  return kinds;
}

}  // namespace shardscope
