#include <fmt/format.h>

#include <algorithm>

#include "engine/base/plural.h"
#include "engine/graph/op_definition.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

bool is_narrow(DType type) { return type == DType::bf16; }

std::vector<Fault> bf16_accumulation_faults(const LintSubject& subject) {
  const Graph& graph = *subject.plan.graph;
  int64_t narrow = 0, all = 0;
  const Op* example = nullptr;
  for (const Op& op : graph.ops) {
    if (!op.definition->accumulates() || graph.type(op.outputs.front()).shape.empty()) continue;
    ++all;
    if (!is_narrow(graph.type(op.outputs.front()).dtype)) continue;
    ++narrow;
    example = &op;
  }
  if (!example) return {};
  Fault fault;
  fault.place = "precision";
  fault.message = fmt::format(
      "{} of {} gradients are added up over {} in bf16, which rounds each sum to 8 "
      "bits, such as {}",
      narrow, all, counted(subject.config.schedule.microbatches, "microbatch", "microbatches"), example->name);
  fault.no_fix = "precision.gradients=f32, which costs memory and no accuracy";
  return {std::move(fault)};
}

}  // namespace

LintRule bf16_accumulation_rule() {
  return {"bf16_accumulation", "gradients are added up over microbatches in bf16", true, bf16_accumulation_faults};
}

}  // namespace shardscope
