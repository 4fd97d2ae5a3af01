#include "engine/lint/rules/mesh_changes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/config/json_document.h"

namespace shardscope {
namespace {

std::string size_setting(AxisIndex axis, int64_t size) { return fmt::format("mesh.axes[{}].size={}", axis, size); }

}  // namespace

Settings moved_factor(const LintSubject& subject, AxisIndex from, AxisIndex to, int64_t factor) {
  return {size_setting(from, subject.axes[from].size / factor), size_setting(to, subject.axes[to].size * factor)};
}

Settings reordered(const LintSubject& subject, const std::vector<AxisIndex>& order) {
  std::vector<std::string> axes;
  for (const AxisIndex axis : order) {
    axes.push_back(fmt::format(R"({{"name":{},"size":{}}})", quoted(subject.axes[axis].name), subject.axes[axis].size));
  }
  Settings settings{fmt::format("mesh.axes=[{}]", fmt::join(axes, ","))};
  if (!subject.config.mesh_devices.empty()) settings.push_back("mesh.devices=[]");
  return settings;
}

std::vector<Settings> moved_to_rows(const LintSubject& subject, AxisIndex from) {
  std::vector<Settings> list;
  const int64_t size = subject.axes[from].size;
  for (const AxisUse& to : subject.axes) {
    if (to.axis == from || to.is_pipeline || !to.splits_rows) continue;
    for (int64_t factor = 2; factor <= size; ++factor) {
      if (size % factor == 0) list.push_back(moved_factor(subject, from, to.axis, factor));
    }
  }
  return list;
}

}  // namespace shardscope
