#include "engine/ops/ring_attention.h"
#include "engine/ops/equation.h"
#include "engine/ops/zigzag.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

RingAttributes ring(int64_t step) { return {{true, {}}, 2, 8, step}; }
RingAttributes extended_ring(int64_t step) {
  RingAttributes attributes = ring(step);
  attributes.attention.window = 3;
  attributes.attention.soft_cap = 0.6;
  attributes.attention.scale = 0.4;
  attributes.attention.slopes = {0.5f, 0.25f, 0.125f, 0.0625f};
  return attributes;
}

// The elements of each row as 4 positions with 2 heads of 5, in zig-zag order round a ring of two.
ValueId ring_attention_layer(Graph& graph, const Linen& m, ValueId x, ValueId) {
  RingAttributes ring{{true, {}}, 2, 4, 0};
  const RollAttributes roll{2, 1};
  const auto heads = [&](const char* name) {
    const ValueId rows = append(graph, "rearrange", {square_dense(m.child(name), x)}, EquationAttributes{"bse->b(se)"});
    const ValueId cut = append(graph, "rearrange", {rows}, EquationAttributes{"b(thd)->bthd", {{'t', 4}, {'h', 2}}});
    return append(graph, "zigzag", {cut}, ZigzagAttributes{2, 1, false});
  };
  const ValueId query = heads("query"), key = heads("key"), value = append(graph, "roll", {heads("value")}, roll);
  const std::vector<ValueId> first = append_op(graph, "attention_block", {query, key, value}, ring);
  ring.step = 1;
  const ValueId next_key = append(graph, "roll", {key}, roll), next_value = append(graph, "roll", {value}, roll);
  const std::vector<ValueId> second = append_op(graph, "attention_block", {query, next_key, next_value}, ring);
  const std::vector<ValueId> merged = append_op(graph, "merge_attention", {first[0], first[1], second[0], second[1]});
  ring.step = 0;
  const std::vector<ValueId> made = append_op(graph, "ring_attention", {query, key, value, merged[0], merged[1]}, ring);
  const ValueId sinks = parameter(graph, "ring_sinks", {2});
  const ValueId context = append(graph, "attention_sink", {made[0], made[1], sinks});
  const ValueId row = append(graph, "rearrange", {context}, EquationAttributes{"bthd->b(thd)"});
  return append(graph, "rearrange", {row}, EquationAttributes{"b(se)->bse", {{'s', sequence}}});
}

std::vector<Attributes> ring_attention_variants() {
  const AttentionAttributes causal{true, {}};
  const RingAttributes made{causal, 2, 8, 0};
  [[maybe_unused]] const auto& [attention, blocks, length, step] = made;
  return {made, RingAttributes{{}, 2, 8, 0}, RingAttributes{causal, 4, 8, 0}, RingAttributes{causal, 2, 16, 0},
          RingAttributes{causal, 2, 8, 1}};
}

std::vector<Attributes> roll_variants() {
  const RollAttributes made{2, 1};
  [[maybe_unused]] const auto& [blocks, shift] = made;
  return {made, RollAttributes{4, 1}, RollAttributes{2, -1}};
}

}  // namespace

OpCases ring_attention_cases() {
  const TensorType ring_query = array({12, 12, 12, 24}), ring_key = array({12, 12, 6, 24});
  const TensorType ring_lse = array({12, 12, 12});
  const RingAttributes long_ring{{true, {}}, 6, 12, 2};
  const TensorType two = array({4, 8, 2, 12}), one = array({4, 8, 1, 12});
  OpCases all;
  all.cases = {{"roll", {large::query}, RollAttributes{6, 1}, {0}},
               {"attention_block", {ring_query, ring_key, ring_key}, long_ring},
               {"attention_block_grad", {ring_query, ring_key, ring_key, ring_query, ring_lse, ring_query}, long_ring},
               {"merge_attention", {ring_query, ring_lse, ring_query, ring_lse}},
               {"ring_attention", {ring_query, ring_key, ring_key, ring_query, ring_lse}, long_ring, {0, 1, 2}}};
  all.small_cases = {
      {"attention_block", {small::query, small::query, small::query}, ring(0)},
      {"attention_block", {small::query, two, two}, ring(1)},
      {"attention_block", {small::query, one, one}, extended_ring(0)},
      {"attention_block", {small::query, one, one}, extended_ring(1)},
      {"attention_block_grad",
       {small::query, small::query, small::query, small::query, small::lse, small::query},
       ring(1)},
      {"attention_block_grad", {small::query, two, two, small::query, small::lse, small::query, small::lse}, ring(0)},
      {"attention_block_grad", {small::query, one, one, small::query, small::lse, small::query}, extended_ring(0)},
      {"attention_block_grad", {small::query, one, one, small::query, small::lse, small::query}, extended_ring(1)},
      {"merge_attention", {small::query, small::lse, small::query, small::lse}},
      {"ring_attention", {small::query, two, two, small::query, small::lse}, ring(0)},
      {"roll", {small::query}, RollAttributes{4, 1}},
      {"roll", {small::ids}, RollAttributes{2, -1}}};
  all.networks = {{"ring attention", 0, ring_attention_layer}};
  all.attributes = {ring_attention_variants(), roll_variants()};
  all.sized_by_attributes = {"roll", "attention_block", "attention_block_grad", "ring_attention"};
  return all;
}

}  // namespace shardscope::test
