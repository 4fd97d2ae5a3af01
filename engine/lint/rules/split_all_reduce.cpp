#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/base/units.h"
#include "engine/config/place.h"
#include "engine/lint/rules/collective_moves.h"
#include "engine/lint/rules/rules.h"
#include "engine/plan/time_causes.h"

namespace shardscope {
namespace {

std::vector<Fault> split_all_reduce_faults(const LintSubject& subject) {
  const Plan& plan = subject.plan;
  std::map<std::string, std::pair<double, Sharding>> reduced;  // by pattern of names
  double seconds = 0;
  for (const CollectiveMove& move : collective_moves(plan)) {
    if (move.kind != InstructionKind::all_reduce || move.phase != Phase::forward) continue;
    const Shape& shape = plan.graph->type(move.value).shape;
    if (shape.size() < 3) continue;  // rows, positions, features
    Sharding split = move.to;
    for (const AxisIndex axis : move.axes) {
      if (!subject.axes[axis].splits_rows && !(split.used_axes() >> axis & 1)) split.dims[1].push_back(axis);
    }
    if (split == move.to || !divides(split, plan.mesh, shape)) continue;
    auto& [of_pattern, sharding] = reduced[pattern_of(plan.graph->values[static_cast<size_t>(move.value)].name)];
    of_pattern += move.seconds;
    sharding = split;
    seconds += move.seconds;
  }
  if (reduced.empty()) return {};
  Fault fault;
  fault.place = "sharding.constraints";
  fault.message = fmt::format(
      "activations are all-reduced for {} a step, though what follows works on each "
      "position alone: a reduce-scatter, and an all-gather later, would do",
      seconds_text(seconds));
  fault.seconds = seconds;
  Settings all;
  for (const auto& [pattern, found] : reduced) {
    const std::string setting = spec_setting(plan, member_place("sharding.constraints", pattern), found.second);
    all.push_back(setting);
    fault.fixes.push_back({setting});
  }
  if (all.size() > 1) fault.fixes.insert(fault.fixes.begin(), all);
  return {std::move(fault)};
}

}  // namespace

LintRule split_all_reduce_rule() {
  return {"split_all_reduce", "an all-reduce that could be a reduce-scatter and a later all-gather", false,
          split_all_reduce_faults};
}

}  // namespace shardscope
