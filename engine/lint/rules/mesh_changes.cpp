#include "engine/lint/rules/mesh_changes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "engine/config/json_document.h"
#include "engine/lint/rules/given_axes.h"

namespace shardscope {
namespace {

// Whether the run file says so, of an axis that may have one device.
bool is_to_split_rows(const LintSubject& subject, const AxisUse& axis) {
  if (axis.is_pipeline) return false;
  if (axis.splits_rows) return true;
  if (axis.size > 1) return false;
  const std::vector<std::vector<std::string>>& in = subject.config.sharding.in.dims;
  if (!in.empty()) return std::ranges::find(in[0], axis.name) != in[0].end();
  const std::optional<GivenAxes> given = given_to_rows(subject);
  return given && std::ranges::find(given->axes, axis.axis) != given->axes.end();
}

}  // namespace

AxisSize size_of(const AxisUse& axis) { return {fmt::format("mesh.axes[{}].size", axis.axis), axis.size}; }

std::vector<AxisSize> sizes_besides(const LintSubject& subject, const std::vector<std::string>& names) {
  std::vector<AxisSize> list;
  if (!subject.config.strategy) return list;
  for (const std::string& name : names) {
    if (std::ranges::find(subject.axes, name, &AxisUse::name) == subject.axes.end())
      list.push_back({"strategy." + name, 1});
  }
  return list;
}

Settings moved_factor(const LintSubject& subject, AxisIndex from, const AxisSize& to, int64_t factor) {
  const AxisSize axis = size_of(subject.axes[from]);
  return {fmt::format("{}={}", axis.path, axis.size / factor), fmt::format("{}={}", to.path, to.size * factor)};
}

Settings moved_factor(const LintSubject& subject, AxisIndex from, AxisIndex to, int64_t factor) {
  return moved_factor(subject, from, size_of(subject.axes[to]), factor);
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
  std::vector<AxisSize> row_axes;
  for (const AxisUse& to : subject.axes) {
    if (to.axis != from && is_to_split_rows(subject, to)) row_axes.push_back(size_of(to));
  }
  std::ranges::copy(sizes_besides(subject, {"data", "fsdp"}), std::back_inserter(row_axes));
  std::vector<Settings> list;
  const int64_t size = subject.axes[from].size;
  for (const AxisSize& to : row_axes) {
    for (int64_t factor = 2; factor <= size; ++factor) {
      if (size % factor == 0) list.push_back(moved_factor(subject, from, to, factor));
    }
  }
  return list;
}

}  // namespace shardscope
