#include "engine/ops/ring_attention.h"
#include "engine/ops/equation.h"
#include "engine/ops/zigzag.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

RingAttributes ring(int64_t step) { return {{true, {}}, 2, 8, step, -1}; }
RingAttributes extended_ring(int64_t step) {
  RingAttributes attributes = ring(step);
  attributes.attention.window = 3;
  attributes.attention.soft_cap = 0.6;
  attributes.attention.scale = 0.4;
  attributes.attention.slopes = {0.5f, 0.25f, 0.125f, 0.0625f};
  return attributes;
}

// Of half a block of keys.
RingAttributes half_ring(int64_t step, int64_t half) {
  RingAttributes attributes = extended_ring(step);
  attributes.half = half;
  return attributes;
}

// The elements of each row as 4 positions with 2 heads of 5, in zig-zag order round a ring of two.
ValueId ring_attention_layer(Graph& graph, const Linen& m, ValueId x, ValueId) {
  RingAttributes ring{{true, {}}, 2, 4, 0, -1};
  const RollAttributes roll{2, 1, {}};
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

// The same with a window, for which halves of blocks are sent.
ValueId window_ring_layer(Graph& graph, const Linen& m, ValueId x, ValueId) {
  RingAttributes ring{{true, {}}, 2, 4, 0, -1};
  ring.attention.window = 2;
  const auto heads = [&](const char* name) {
    const ValueId rows = append(graph, "rearrange", {square_dense(m.child(name), x)}, EquationAttributes{"bse->b(se)"});
    const ValueId cut = append(graph, "rearrange", {rows}, EquationAttributes{"b(thd)->bthd", {{'t', 4}, {'h', 2}}});
    return append(graph, "zigzag", {cut}, ZigzagAttributes{2, 1, false});
  };
  const ValueId query = heads("query"), key = heads("key");
  const std::vector<ValueId> values = append_op(graph, "block_halves", {heads("value")}, BlockAttributes{2});
  const ValueId value = append(graph, "join_halves", {values[1], values[0]}, BlockAttributes{2});
  std::vector<ValueId> merged = append_op(graph, "attention_block", {query, key, value}, ring);
  const std::vector<ValueId> keys = append_op(graph, "block_halves", {key}, BlockAttributes{2});
  for (const SeenHalf& seen : seen_halves(ring)) {
    RingAttributes of = ring;
    of.step = seen.step, of.half = seen.half;
    const RollAttributes roll{2, seen.step, seen.receivers};
    const auto half = static_cast<size_t>(seen.half);
    const ValueId sent_key = append(graph, "roll", {keys[half]}, roll);
    const ValueId sent_value = append(graph, "roll", {values[1 - half]}, roll);
    const std::vector<ValueId> more = append_op(graph, "attention_block", {query, sent_key, sent_value}, of);
    merged = append_op(graph, "merge_attention", {merged[0], merged[1], more[0], more[1]});
  }
  const std::vector<ValueId> made = append_op(graph, "ring_attention", {query, key, value, merged[0], merged[1]}, ring);
  const ValueId row = append(graph, "rearrange", {made[0]}, EquationAttributes{"bthd->b(thd)"});
  return append(graph, "rearrange", {row}, EquationAttributes{"b(se)->bse", {{'s', sequence}}});
}

std::vector<Attributes> ring_attention_variants() {
  const AttentionAttributes causal{true, {}};
  const RingAttributes made{causal, 2, 8, 0, -1};
  [[maybe_unused]] const auto& [attention, blocks, length, step, half] = made;
  return {made,
          RingAttributes{{}, 2, 8, 0, -1},
          RingAttributes{causal, 4, 8, 0, -1},
          RingAttributes{causal, 2, 16, 0, -1},
          RingAttributes{causal, 2, 8, 1, -1},
          RingAttributes{causal, 2, 8, 0, 1}};
}

std::vector<Attributes> roll_variants() {
  const RollAttributes made{2, 1, {}};
  [[maybe_unused]] const auto& [blocks, shift, receivers] = made;
  return {made, RollAttributes{4, 1, {}}, RollAttributes{2, -1, {}}, RollAttributes{2, 1, {1}}};
}

std::vector<Attributes> block_variants() {
  const BlockAttributes made{2};
  [[maybe_unused]] const auto& [blocks] = made;
  return {made, BlockAttributes{4}};
}

}  // namespace

OpCases ring_attention_cases() {
  const TensorType ring_query = array({12, 12, 12, 24}), ring_key = array({12, 12, 6, 24});
  const TensorType ring_lse = array({12, 12, 12});
  const RingAttributes long_ring{{true, {}}, 6, 12, 2, -1};
  RingAttributes long_half = long_ring;
  long_half.half = 0;
  const TensorType half_key = array({12, 6, 6, 24});
  const TensorType two = array({4, 8, 2, 12}), one = array({4, 8, 1, 12}), half = array({4, 4, 1, 12});
  OpCases all;
  all.cases = {{"roll", {large::query}, RollAttributes{6, 1, {}}, {0}},
               {"roll", {large::query}, RollAttributes{6, 1, {1, 2, 5}}, {0}},
               {"block_halves", {ring_query}, BlockAttributes{6}},
               {"join_halves", {large::query, large::query}, BlockAttributes{6}},
               {"attention_block", {ring_query, half_key, half_key}, long_half},
               {"attention_block_grad", {ring_query, half_key, half_key, ring_query, ring_lse, ring_query}, long_half},
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
      {"attention_block", {small::query, half, half}, half_ring(1, 0)},
      {"attention_block", {small::query, half, half}, half_ring(1, 1)},
      {"attention_block_grad", {small::query, half, half, small::query, small::lse, small::query}, half_ring(1, 0)},
      {"attention_block_grad", {small::query, half, half, small::query, small::lse, small::query}, half_ring(1, 1)},
      {"block_halves", {small::query}, BlockAttributes{2}},
      {"join_halves", {half, half}, BlockAttributes{4}},
      {"merge_attention", {small::query, small::lse, small::query, small::lse}},
      {"ring_attention", {small::query, two, two, small::query, small::lse}, ring(0)},
      {"roll", {small::query}, RollAttributes{4, 1, {}}},
      {"roll", {small::query}, RollAttributes{4, -1, {0, 2}}},
      {"roll", {small::ids}, RollAttributes{2, -1, {}}}};
  all.networks = {{"ring attention", 0, ring_attention_layer}, {"ring attention with a window", 0, window_ring_layer}};
  all.attributes = {ring_attention_variants(), roll_variants(), block_variants()};
  all.sized_by_attributes = {"roll",          "block_halves", "join_halves", "attention_block", "attention_block_grad",
                             "ring_attention"};
  return all;
}

}  // namespace shardscope::test
