#include <fmt/format.h>

#include <algorithm>

#include "engine/base/plural.h"
#include "engine/config/json_document.h"
#include "engine/lint/rules/given_axes.h"
#include "engine/lint/rules/mesh_changes.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

// Its axes without one of them, for each: the others may divide.
void add_fewer_axes(const LintSubject& subject, const GivenAxes& given, Fault& fault) {
  if (given.axes.size() < 2) return;
  for (const AxisIndex left_out : given.axes) {
    JsonNode names = JsonNode::array();
    for (const AxisIndex axis : given.axes) {
      if (axis != left_out) names.items.push_back(JsonNode::of(subject.axes[axis].name));
    }
    fault.fixes.push_back({given.place.path + "=" + print_json_line(names)});
  }
}

void add_fewer_devices(const LintSubject& subject, const GivenAxes& given, Fault& fault) {
  for (const AxisIndex from : given.axes) {
    const int64_t size = subject.axes[from].size;
    for (const AxisUse& to : subject.axes) {
      if (to.is_pipeline || std::ranges::find(given.axes, to.axis) != given.axes.end()) continue;
      for (int64_t factor = 2; factor <= size; ++factor) {
        if (size % factor == 0) fault.fixes.push_back(moved_factor(subject, from, to.axis, factor));
      }
    }
  }
}

int64_t largest_divisor(int64_t of, int64_t most) {
  int64_t divisor = std::min(of, most);
  while (of % divisor != 0) --divisor;
  return divisor;
}

std::vector<Fault> indivisible_batch_faults(const LintSubject& subject) {
  const std::optional<GivenAxes> given = given_to_rows(subject);
  const int64_t rows = given ? first_input(subject.plan)->shape[0] : 0;
  if (rows == 0 || rows % given->devices == 0) return {};
  Fault fault;
  fault.place = given->place;
  fault.message = fmt::format("{} of a microbatch do not divide by {}, so that each has all of them",
                              counted(rows, "row"), given->text(subject));
  fault.seconds = subject.step_seconds() * (1 - 1 / static_cast<double>(given->devices));
  const int64_t microbatches = subject.config.schedule.microbatches;
  for (int64_t fewer = microbatches - 1; fewer > 0; --fewer) {
    if (microbatches % fewer == 0) fault.fixes.push_back({fmt::format("schedule.microbatches={}", fewer)});
  }
  add_fewer_axes(subject, *given, fault);
  add_fewer_devices(subject, *given, fault);
  fault.no_fix = fmt::format("data.batch_size={}, which divides, or {} in place of {}",
                             (rows / given->devices + 1) * given->devices * microbatches,
                             counted(largest_divisor(rows, given->devices), "device"), given->text(subject));
  return {std::move(fault)};
}

}  // namespace

LintRule indivisible_batch_rule() {
  return {"indivisible_batch", "a batch that the axes of its rule do not divide", true, indivisible_batch_faults};
}

}  // namespace shardscope
