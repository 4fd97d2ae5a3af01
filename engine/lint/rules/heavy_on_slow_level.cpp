#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/units.h"
#include "engine/lint/rules/mesh_changes.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

Settings swapped(const LintSubject& subject, AxisIndex first, AxisIndex second) {
  std::vector<AxisIndex> order;
  for (const AxisUse& use : subject.axes) order.push_back(use.axis);
  std::swap(order[first], order[second]);
  return reordered(subject, order);
}

std::vector<Fault> heavy_on_slow_level_faults(const LintSubject& subject) {
  std::vector<Fault> faults;
  for (const AxisUse& slow : subject.axes) {
    Fault fault;
    for (const AxisUse& quick : subject.axes) {
      if (slow.level <= quick.level || quick.level < 0 || slow.wire_bytes <= quick.wire_bytes) continue;
      const auto level = [&](const AxisUse& use) { return subject.plan.machine.levels[size_t(use.level)].name; };
      if (fault.fixes.empty()) {
        fault.place = fmt::format("mesh.axes[{}]", slow.axis);
        fault.message = fmt::format(
            "a device sends {} a step over axis '{}' on level '{}', and {} over "
            "axis '{}' on the inner level '{}'",
            bytes_text(slow.wire_bytes), slow.name, level(slow), bytes_text(quick.wire_bytes), quick.name,
            level(quick));
        fault.seconds = slow.seconds;
      }
      fault.fixes.push_back(swapped(subject, slow.axis, quick.axis));
    }
    if (!fault.fixes.empty()) faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace

LintRule heavy_on_slow_level_rule() {
  return {"heavy_on_slow_level", "the axis with more communication is on the slower level", false,
          heavy_on_slow_level_faults};
}

}  // namespace shardscope
