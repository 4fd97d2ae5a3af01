#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "engine/base/plural.h"
#include "engine/config/place.h"
#include "engine/lint/rules/mesh_changes.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

// Axes that rules give to the rows of inputs, with the places of the rules.
struct RowAxis {
  std::string name, place;
};

std::vector<RowAxis> row_axes(const ShardingConfig& sharding) {
  std::vector<RowAxis> list;
  for (size_t i = 0; i < sharding.rules.size(); ++i) {
    const SpecRule& rule = sharding.rules[i];
    const LogicalAxes* logical = std::get_if<LogicalAxes>(&rule.placement);
    if (!logical) continue;
    for (const auto& [name, axes] : logical->axes) {
      if (name != "batch") continue;
      for (const std::string& axis : axes) list.push_back({axis, member_place(rule_place(i) + ".axes", name)});
    }
  }
  return list;
}

const ValueLayout* first_input(const Plan& plan) {
  const auto is_input = [&](const ValueLayout& layout) {
    return plan.graph->values[static_cast<size_t>(layout.value)].kind == ValueKind::input && !layout.shape.empty();
  };
  const auto found = std::ranges::find_if(plan.layouts, is_input);
  return found == plan.layouts.end() ? nullptr : &*found;
}

std::vector<Fault> indivisible_batch_faults(const LintSubject& subject) {
  const ValueLayout* input = first_input(subject.plan);
  if (!input) return {};
  std::vector<Fault> faults;
  for (const auto& [name, place] : row_axes(subject.config.sharding)) {
    const auto axis = std::ranges::find(subject.axes, name, &AxisUse::name);
    if (axis == subject.axes.end() || axis->size == 1 || input->shape[0] % axis->size == 0) continue;
    Fault fault;
    fault.place = place;
    fault.message = fmt::format(
        "{} of a microbatch do not divide by the {} of axis '{}', so that each "
        "has all of them",
        counted(input->shape[0], "row"), counted(axis->size, "device"), name);
    fault.seconds = subject.step_seconds() * (1 - 1 / static_cast<double>(axis->size));
    const int64_t microbatches = subject.config.schedule.microbatches;
    for (int64_t fewer = microbatches - 1; fewer > 0; --fewer) {
      if (microbatches % fewer == 0) fault.fixes.push_back({fmt::format("schedule.microbatches={}", fewer)});
    }
    for (const AxisUse& to : subject.axes) {
      if (to.axis == axis->axis || to.is_pipeline) continue;
      for (int64_t factor = 2; factor <= axis->size; ++factor) {
        if (axis->size % factor == 0) fault.fixes.push_back(moved_factor(subject, axis->axis, to.axis, factor));
      }
    }
    const int64_t rows = (input->shape[0] / axis->size + 1) * axis->size * microbatches;
    fault.no_fix = fmt::format("data.batch_size={}, which divides, or {} along '{}'", rows,
                               counted(std::max<int64_t>(1, input->shape[0]), "device"), name);
    faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace

LintRule indivisible_batch_rule() {
  return {"indivisible_batch", "a batch that the axis of its rule does not divide", true, indivisible_batch_faults};
}

}  // namespace shardscope
