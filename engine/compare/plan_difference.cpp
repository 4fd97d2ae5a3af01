#include "engine/compare/plan_difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "engine/base/path.h"
#include "engine/compile/document_of.h"

namespace shardscope {
namespace {

constexpr double rounding = 1e-12;  // of a step's time, in sums of its parts

// Of each array of either plan, by name.
std::map<std::string, PlanDifference::Layout> all_layouts(const Plan& before, const Plan& after) {
  std::map<std::string, PlanDifference::Layout> layouts;
  for (const auto& [plan, text] :
       {std::pair{&before, &PlanDifference::Layout::before}, {&after, &PlanDifference::Layout::after}}) {
    const auto add = [&layouts, text = text, plan = plan](const std::string& name, bool is_parameter,
                                                          const Sharding& sharding) {
      PlanDifference::Layout& layout =
          layouts.try_emplace(name, PlanDifference::Layout{name, is_parameter, {}, {}}).first->second;
      if ((layout.*text).empty()) layout.*text = to_string(sharding, plan->mesh);
    };
    for (const ParameterPlan& parameter : plan->parameters) add(join_path(parameter.path), true, parameter.sharding);
    for (const ValueLayout& layout : plan->layouts) add(layout.name, false, layout.sharding);
  }
  return layouts;
}

std::vector<PlanDifference::Layout> layouts_of(const Plan& before, const Plan& after) {
  std::vector<PlanDifference::Layout> list;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> at;  // by pattern, before and after
  std::map<std::string, int> counts;                                       // of arrays by pattern
  const std::map<std::string, PlanDifference::Layout> all = all_layouts(before, after);
  for (const auto& [name, layout] : all) {
    const std::string pattern = pattern_of(name);
    ++counts[pattern];
    if (layout.before == layout.after) continue;
    const auto [found, is_new] = at.try_emplace({pattern, layout.before, layout.after}, list.size());
    if (is_new) {
      list.push_back(layout);
    } else {
      list[found->second].array = pattern;
      ++list[found->second].count;
    }
  }
  for (const auto& [key, index] : at) list[index].of = counts[std::get<0>(key)];
  std::ranges::stable_partition(list, &PlanDifference::Layout::is_parameter);
  return list;
}

// By name; every cause of either plan, with zeros where the other has none.
std::map<std::string, std::pair<TimeCause, TimeCause>> paired(const std::vector<TimeCause>& before,
                                                              const std::vector<TimeCause>& after) {
  std::map<std::string, std::pair<TimeCause, TimeCause>> pairs;
  for (const TimeCause& cause : before) pairs[cause.name].first = cause;
  for (const TimeCause& cause : after) pairs[cause.name].second = cause;
  return pairs;
}

std::string note_on(const TimeCause& before, const TimeCause& after) {
  if (before.count == 0 && after.count > 0) return "new";
  if (after.count == 0 && before.count > 0) return "gone";
  if (after.hidden < before.hidden && after.seconds > before.seconds && !before.behind.empty())
    return fmt::format("{} hidden behind {}", after.hidden > 0 ? "less of it" : "no longer", before.behind);
  if (after.hidden > before.hidden && after.seconds < before.seconds && !after.behind.empty())
    return fmt::format("hidden behind {}", after.behind);
  return {};
}

}  // namespace

const char* PlanDifference::Traffic::what() const {
  if (before == 0) return "added";
  if (after == 0) return "removed";
  return after_bytes > before_bytes ? "larger" : "smaller";
}

PlanDifference difference_of(const Plan& before, const Plan& after) {
  PlanDifference difference;
  difference.settings = setting_changes(document_of(before), document_of(after));
  std::ranges::sort(difference.settings, {}, &SettingChange::path);
  difference.layouts = layouts_of(before, after);
  difference.before_seconds = before.simulation.seconds;
  difference.after_seconds = after.simulation.seconds;
  difference.memory.push_back({"total", before.totals.device_bytes, after.totals.device_bytes});
  for (size_t i = 0; i < before.totals.device_memory.size(); ++i) {
    difference.memory.push_back({std::string(name(static_cast<MemoryCategory>(i))), before.totals.device_memory[i],
                                 after.totals.device_memory[i]});
  }
  if (before.totals.allocator_bytes + after.totals.allocator_bytes > 0)
    difference.memory.push_back({"allocator", before.totals.allocator_bytes, after.totals.allocator_bytes});
  const double step = std::max(difference.before_seconds, difference.after_seconds);
  for (const auto& [name, pair] : paired(time_causes(before), time_causes(after))) {
    const auto& [first, second] = pair;
    if (std::abs(first.seconds - second.seconds) > rounding * step || first.count != second.count)
      difference.times.push_back({name, first.seconds, second.seconds, note_on(first, second)});
    if (std::abs(first.hidden - second.hidden) > rounding * step)
      difference.hidden.push_back({name, first.hidden, second.hidden});
    if (first.wire_bytes != second.wire_bytes)
      difference.traffic.push_back({name, first.count, second.count, first.wire_bytes, second.wire_bytes});
  }
  const auto change = [](const auto& line) { return -std::abs(double(line.after) - double(line.before)); };
  std::ranges::stable_sort(difference.times, {}, change);
  std::ranges::stable_sort(difference.hidden, {}, change);
  std::ranges::stable_sort(difference.memory.begin() + 1, difference.memory.end(), {}, change);
  std::ranges::stable_sort(difference.traffic, {}, [](const PlanDifference::Traffic& line) {
    return -std::abs(line.after_bytes - line.before_bytes);
  });
  return difference;
}

}  // namespace shardscope
