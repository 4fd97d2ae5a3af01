#include "engine/ops/dispatch.h"
#include "engine/ops/expert_load.h"
#include "engine/ops/grouped_linear.h"
#include "engine/ops/top_k.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

// Two of four experts for each position, by way of blocks: each row of the batch is one, experts are in two; a block of
// experts has room for `rows`.
Layer dispatched_experts(int64_t rows) {
  return [=](Graph& graph, const Linen& m, ValueId x, ValueId) {
    const DispatchAttributes blocks{4, 2, batch, 1, rows, false};
    const GroupedLinearAttributes forward{}, transposed{true, 1};
    const ValueId logits = m.child("router").dense(x, "bse,ef->bsf", {width, 4}, {"embed", "experts"});
    const std::vector<ValueId> made = append_op(graph, "top_k", {logits}, TopKAttributes{.k = 2});
    const ValueId up = parameter(graph, "up", {4, width, width}), down = parameter(graph, "down", {4, width, width});
    const ValueId counts = append(graph, "expert_counts", {made[0]}, blocks);
    append(graph, "expert_load", {made[0]}, ExpertLoadAttributes{4});
    const ValueId sent = append(graph, "dispatch", {square_dense(m, x), made[0], counts}, blocks);
    const ValueId inner = append(graph, "grouped_linear", {sent, counts, up}, forward);
    const ValueId given = append(graph, "grouped_linear", {m.gelu(inner), counts, down}, transposed);
    const ValueId back = append(graph, "combine", {given, made[0], counts}, blocks);
    return append(graph, "weighted_sum", {back, made[1]});
  };
}

std::vector<Attributes> dispatch_variants() {
  const DispatchAttributes made{8, 2, 2, 2, 6, false};
  [[maybe_unused]] const auto& [experts, expert_blocks, batch_blocks, length_blocks, rows, summed] = made;
  return {made,
          DispatchAttributes{4, 2, 2, 2, 6, false},
          DispatchAttributes{8, 4, 2, 2, 6, false},
          DispatchAttributes{8, 2, 4, 2, 6, false},
          DispatchAttributes{8, 2, 2, 1, 6, false},
          DispatchAttributes{8, 2, 2, 2, 5, false},
          DispatchAttributes{8, 2, 2, 2, 6, true}};
}

}  // namespace

OpCases dispatch_cases() {
  // Six blocks of four tokens along the batch, three of them along the length, for experts in two blocks of six.
  const DispatchAttributes six_blocks{12, 2, 6, 3, 18, false};
  const TensorType six_counts = tokens({18, 2, 6}), six_sent = array({18, 2, 18, 24});
  // Blocks of half a row, for experts in two blocks; where some are dropped, there is room for 5 of 16.
  const DispatchAttributes blocks{4, 2, 4, 2, 16, false}, summed_blocks{4, 2, 4, 2, 16, true};
  const DispatchAttributes dropping_blocks{4, 2, 4, 2, 5, false};
  const TensorType counts = tokens({8, 2, 2}), sent = array({8, 2, 16, 12});
  OpCases all;
  all.cases = {{"expert_counts", {large::choices}, six_blocks},
               {"dispatch", {large::x, large::choices, six_counts}, six_blocks, {0}},
               {"dispatch", {array({12, 6, 6, 24}), large::choices, six_counts}, six_blocks, {0}},
               {"dispatch", {half(large::x.shape), large::choices, six_counts}, six_blocks, {0}},
               {"combine", {half(six_sent.shape), large::choices, six_counts}, six_blocks, {0}},
               {"combine", {six_sent, large::choices, six_counts}, six_blocks, {0}}};
  all.small_cases = {{"expert_counts", {small::choices}, blocks},
                     {"expert_counts", {small::choices}, dropping_blocks},
                     {"dispatch", {small::x, small::choices, counts}, blocks},
                     {"dispatch", {small::query, small::choices, counts}, dropping_blocks},
                     {"combine", {sent, small::choices, counts}, blocks},
                     {"combine", {sent, small::choices, counts}, summed_blocks},
                     {"combine", {array({8, 2, 5, 12}), small::choices, counts}, dropping_blocks}};
  all.networks = {{"dispatched experts", 0, dispatched_experts(2 * sequence)},
                  {"dispatched experts, some dropped", 0, dispatched_experts(3)}};
  all.largest_integer = 3;
  all.attributes = {dispatch_variants()};
  all.sized_by_attributes = {"expert_counts", "dispatch", "combine"};
  return all;
}

}  // namespace shardscope::test
