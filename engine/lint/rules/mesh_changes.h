#pragma once

#include "engine/lint/rules/lint_rule.h"

namespace shardscope {

// Changes of a mesh with as many devices, as settings.

// Axis `from` with `factor` times fewer devices, `to` with as many times more.
Settings moved_factor(const LintSubject& subject, AxisIndex from, AxisIndex to, int64_t factor);
// The axes in this order, major first; the devices in theirs.
Settings reordered(const LintSubject& subject, const std::vector<AxisIndex>& order);

// All prime factors of an axis moved away from it to an axis that splits the rows of the inputs, one or more at a time,
// the smallest change first. Empty where there is no such axis.
std::vector<Settings> moved_to_rows(const LintSubject& subject, AxisIndex from);

}  // namespace shardscope
