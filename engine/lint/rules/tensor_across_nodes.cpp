#include <fmt/format.h>

#include <algorithm>

#include "engine/base/plural.h"
#include "engine/base/units.h"
#include "engine/lint/rules/mesh_changes.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

// The axis last, where neighbouring devices differ in it.
Settings as_minor_axis(const LintSubject& subject, AxisIndex axis) {
  std::vector<AxisIndex> order;
  for (const AxisUse& use : subject.axes) {
    if (use.axis != axis) order.push_back(use.axis);
  }
  order.push_back(axis);
  return reordered(subject, order);
}

std::vector<Fault> tensor_across_nodes_faults(const LintSubject& subject) {
  std::vector<Fault> faults;
  for (const AxisUse& axis : subject.axes) {
    if (!axis.reduces_activations || axis.splits_rows || axis.level < 1) continue;
    const std::vector<Level>& levels = subject.plan.machine.levels;
    Fault fault;
    fault.place = fmt::format("mesh.axes[{}]", axis.axis);
    fault.message = fmt::format(
        "activations are reduced over axis '{}' of {}, which crosses level '{}' "
        "({} a step)",
        axis.name, counted(axis.size, "device"), levels[size_t(axis.level)].name, seconds_text(axis.seconds));
    fault.seconds = axis.seconds;
    fault.fixes.push_back(as_minor_axis(subject, axis.axis));
    for (Settings& moved : moved_to_rows(subject, axis.axis)) fault.fixes.push_back(std::move(moved));
    faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace

LintRule tensor_across_nodes_rule() {
  return {"tensor_across_nodes", "activations are reduced over a slow level of the machine", false,
          tensor_across_nodes_faults};
}

}  // namespace shardscope
