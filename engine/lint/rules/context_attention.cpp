#include <fmt/format.h>

#include <algorithm>

#include "engine/base/plural.h"
#include "engine/graph/op_definition.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

// The axis that splits the length of sequences, or nullptr.
const AxisUse* length_axis(const LintSubject& subject) {
  for (const ValueLayout& layout : subject.plan.layouts) {
    const bool is_input = subject.plan.graph->values[static_cast<size_t>(layout.value)].kind == ValueKind::input;
    if (!is_input || layout.shape.size() < 2) continue;
    for (const AxisIndex axis : layout.sharding.dims[1]) {
      if (subject.axes[axis].size > 1) return &subject.axes[axis];
    }
    return nullptr;
  }
  return nullptr;
}

std::vector<Fault> context_attention_faults(const LintSubject& subject) {
  const AxisUse* use = length_axis(subject);
  if (!use) return {};
  const bool rings = std::ranges::any_of(subject.plan.graph->ops,
                                         [](const Op& op) { return op.definition->name() == "ring_attention"; });
  Fault fault;
  fault.place = "model.context_attention";
  fault.message = fmt::format("keys and values {} {} along '{}'", rings ? "go round a ring of" : "are gathered from",
                              counted(use->size, "device"), use->name);
  fault.seconds = use->seconds;
  fault.fixes = {{rings ? "model.context_attention=gather" : "model.context_attention=ring"}};
  return {std::move(fault)};
}

}  // namespace

LintRule context_attention_rule() {
  return {"context_attention", "keys and values of a split length travel in the slower way", false,
          context_attention_faults};
}

}  // namespace shardscope
