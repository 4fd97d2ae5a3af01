#include "engine/ops/attention.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

// Attention whose context depends on the logarithms of sums too.
ValueId attention_with_sinks(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const ValueId sinks = parameter(graph, "sinks", {4});
  std::vector<ValueId> operands;
  for (const char* name : {"query", "key", "value"}) {
    operands.push_back(m.child(name).dense(x, "bse,ehd->bshd", {width, 4, 2}, {"embed", "heads", "kv"}));
  }
  const std::vector<ValueId> made = append_op(graph, "attention", operands, AttentionAttributes{true, {}});
  const ValueId context = append(graph, "attention_sink", {made[0], made[1], sinks});
  return m.child("out").dense(context, "bshd,hde->bse", {4, 2, width}, {"heads", "kv", "embed"});
}

}  // namespace

OpCases attention_sink_cases() {
  OpCases all;
  all.cases = {{"attention_sink", {large::query, large::lse, array({12})}, {}, {0, 1, 2}},
               {"attention_sink_grad", {large::query, large::query, large::lse, array({12})}}};
  all.small_cases = {{"attention_sink", {small::query, small::lse, array({4})}},
                     {"attention_sink_grad", {small::query, small::query, small::lse, array({4})}}};
  all.networks = {{"attention with sinks", 0, attention_with_sinks}};
  return all;
}

}  // namespace shardscope::test
