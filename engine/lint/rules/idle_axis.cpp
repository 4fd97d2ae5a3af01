#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/plural.h"
#include "engine/config/json_document.h"
#include "engine/config/run_document.h"
#include "engine/lint/rules/mesh_changes.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

Settings splitting_rows(const LintSubject& subject, const AxisUse& axis) {
  PartitionSpec in = subject.config.sharding.in;
  if (in.dims.empty()) in.dims.emplace_back();
  in.dims[0].push_back(axis.name);
  return {"sharding.in=" + print_json_line(to_node(in))};
}

std::vector<Fault> idle_axis_faults(const LintSubject& subject) {
  std::vector<Fault> faults;
  for (const AxisUse& axis : subject.axes) {
    if (axis.size == 1 || axis.is_pipeline || axis.splits_values) continue;
    Fault fault;
    fault.place = fmt::format("mesh.axes[{}]", axis.axis);
    fault.message =
        fmt::format("axis '{}' splits nothing: its {} all do the same work", axis.name, counted(axis.size, "device"));
    fault.seconds = subject.step_seconds() * (1 - 1 / double(axis.size));
    fault.fixes.push_back(splitting_rows(subject, axis));
    for (const AxisUse& other : subject.axes) {
      if (other.axis == axis.axis || other.is_pipeline) continue;
      fault.fixes.push_back(moved_factor(subject, axis.axis, other.axis, axis.size));
    }
    fault.no_fix = fmt::format("name '{}' in a spec or a rule, or take the axis away", axis.name);
    faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace

LintRule idle_axis_rule() { return {"idle_axis", "a mesh axis that splits nothing", true, idle_axis_faults}; }

}  // namespace shardscope
