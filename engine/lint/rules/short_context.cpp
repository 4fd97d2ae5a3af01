#include <fmt/format.h>

#include "engine/base/plural.h"
#include "engine/lint/rules/mesh_changes.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

std::vector<Fault> short_context_faults(const LintSubject& subject) {
  const Plan& plan = subject.plan;
  std::vector<Fault> faults;
  for (const ValueLayout& layout : plan.layouts) {
    if (plan.graph->values[static_cast<size_t>(layout.value)].kind != ValueKind::input || layout.shape.size() < 2)
      continue;
    for (const AxisIndex axis : layout.sharding.dims[1]) {
      const AxisUse& use = subject.axes[axis];
      if (use.size == 1) continue;
      Fault fault;
      fault.place = fmt::format("mesh.axes[{}]", axis);
      fault.message = fmt::format("axis '{}' splits sequences of {} positions over {}, {} positions each", use.name,
                                  layout.shape[1], counted(use.size, "device"), layout.shape[1] / use.size);
      fault.seconds = use.seconds;
      fault.fixes = moved_to_rows(subject, axis);
      faults.push_back(std::move(fault));
    }
    break;
  }
  return faults;
}

}  // namespace

LintRule short_context_rule() {
  return {"short_context", "sequences are split that are too short for it to pay", false, short_context_faults};
}

}  // namespace shardscope
