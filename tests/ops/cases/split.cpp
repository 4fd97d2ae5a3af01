#include "engine/ops/split.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

// The first and the last of three parts, in the other order.
ValueId through_split(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const SplitAttributes three{2, {3, 2, 3}};
  const std::vector<ValueId> made = append_op(graph, "split", {square_dense(m, x)}, three);
  const ValueId other = append(graph, "split", {x}, SplitAttributes{2, {2, 6}});
  return append(graph, "concatenate", {made[2], other, made[0]}, three);
}

std::vector<Attributes> split_variants() {
  const SplitAttributes made{1, {2, 3}};
  [[maybe_unused]] const auto& [dimension, sizes] = made;
  return {made, SplitAttributes{0, {2, 3}}, SplitAttributes{1, {3, 2}}, SplitAttributes{1, {2, 3, 1}}};
}

}  // namespace

OpCases split_cases() {
  OpCases all;
  all.cases = {{"split", {large::x}, SplitAttributes{2, {6, 18}}, {0}},
               {"concatenate", {large::x, large::x}, SplitAttributes{2, {24, 24}}, {0, 1}}};
  all.small_cases = {{"split", {small::x}, SplitAttributes{2, {4, 12}}},
                     {"split", {small::x}, SplitAttributes{0, {1, 1, 2}}},
                     {"split", {small::query}, SplitAttributes{1, {1, 2, 4, 1}}},
                     {"split", {half({4, 8, 16})}, SplitAttributes{1, {3, 5}}},
                     {"concatenate", {array({4, 3, 16}), array({4, 5, 16})}, SplitAttributes{1, {3, 5}}},
                     {"concatenate", {small::x, small::x, small::x}, SplitAttributes{0, {4, 4, 4}}},
                     {"concatenate", {array({4, 8, 1}), small::x}, SplitAttributes{2, {1, 16}}}};
  all.networks = {{"split", 0, through_split}};
  all.attributes = {split_variants()};
  all.exact = {"split", "concatenate"};
  return all;
}

}  // namespace shardscope::test
