#pragma once

#include "engine/lint/rules/lint_rule.h"

namespace shardscope {

// Changes of a mesh with as many devices, as settings.

// An axis that devices can be given to: one of the mesh, or one of the strategy that has a single device, which no mesh
// has.
struct AxisSize {
  std::string path;  // "mesh.axes[0].size", "strategy.data"
  int64_t size = 1;
};
AxisSize size_of(const AxisUse& axis);
// Axes of this name that the strategy may have besides those of the mesh; none without a strategy.
std::vector<AxisSize> sizes_besides(const LintSubject& subject, const std::vector<std::string>& names);

// Axis `from` with `factor` times fewer devices, `to` with as many times more.
Settings moved_factor(const LintSubject& subject, AxisIndex from, const AxisSize& to, int64_t factor);
Settings moved_factor(const LintSubject& subject, AxisIndex from, AxisIndex to, int64_t factor);
// The axes in this order, major first; the devices in theirs.
Settings reordered(const LintSubject& subject, const std::vector<AxisIndex>& order);

// All prime factors of an axis moved away from it to an axis that splits the rows of the inputs, one or more at a time,
// the smallest change first. Empty where there is no such axis. An axis of one device splits rows where `sharding.in`
// or a rule says so of it; a strategy's are "data" and "fsdp".
std::vector<Settings> moved_to_rows(const LintSubject& subject, AxisIndex from);

}  // namespace shardscope
