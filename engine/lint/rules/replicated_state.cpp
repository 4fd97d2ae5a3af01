#include <fmt/format.h>

#include <algorithm>

#include "engine/base/plural.h"
#include "engine/base/units.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

constexpr double least_saved_share = 0.02;  // of the heaviest device's memory that it would save

struct Replicated {
  int64_t optimizer = 0, parameters = 0;  // bytes of a device that the axis could split
};

Replicated replicated_over(const Plan& plan, const AxisUse& axis) {
  Replicated bytes;
  const auto saved = [&](int value) -> int64_t {
    const ProgramValue& stored = plan.program.values[static_cast<size_t>(value)];
    if (stored.sharding.used_axes() >> axis.axis & 1) return 0;
    return stored.bytes() - stored.bytes() / axis.size;
  };
  for (const ParameterPlan& parameter : plan.parameters) {
    bytes.parameters += saved(parameter.value);
    for (const int state : parameter.state_values) bytes.optimizer += saved(state);
  }
  return bytes;
}

std::vector<Fault> replicated_state_faults(const LintSubject& subject) {
  if (!subject.plan.trains() || subject.config.sharding.zero.stage != 0) return {};
  std::vector<Fault> faults;
  for (const AxisUse& axis : subject.axes) {
    if (axis.size == 1 || axis.is_pipeline || !axis.splits_rows) continue;
    const Replicated bytes = replicated_over(subject.plan, axis);
    if (double(bytes.optimizer) < least_saved_share * double(subject.plan.totals.memory_total)) continue;
    Fault fault;
    fault.place = "sharding.zero";
    fault.message = fmt::format(
        "every device along axis '{}' keeps the same optimizer state; split over its {} "
        "it would take {} less on each",
        axis.name, counted(axis.size, "device"), bytes_text(double(bytes.optimizer)));
    fault.bytes = bytes.optimizer;
    for (int stage = 1; stage <= 3; ++stage) {
      fault.fixes.push_back(
          {fmt::format("sharding.zero.stage={}", stage), fmt::format("sharding.zero.axis={}", axis.name)});
    }
    faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace

LintRule replicated_state_rule() {
  return {"replicated_state", "optimizer state is on every device of an axis that could split it", false,
          replicated_state_faults};
}

}  // namespace shardscope
