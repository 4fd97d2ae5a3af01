#include <fmt/format.h>

#include <ranges>

#include "engine/base/units.h"
#include "engine/config/run_file_keys.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

double recomputing_seconds(const Plan& plan, int stage) {
  const SequenceInstructions instructions = plan.instructions(stage);
  double seconds = 0;
  for (const auto& [position, count] : distinct_instructions(plan.program.main(stage))) {
    if (instructions[position].phase == Phase::recompute) seconds += count * plan.seconds(position, stage);
  }
  return seconds;
}

std::vector<Fault> recompute_faults(const LintSubject& subject) {
  const std::string& policy = subject.config.schedule.rematerialise;
  if (policy == "none" || !subject.plan.trains()) return {};
  double seconds = 0;
  for (int stage = 0; stage < subject.plan.program.stages; ++stage)
    seconds = std::max(seconds, recomputing_seconds(subject.plan, stage));
  if (seconds == 0) return {};
  Fault fault;
  fault.place = "schedule.rematerialise";
  fault.message = fmt::format("backward recomputes forward results ({}) for {} a step", policy, seconds_text(seconds));
  fault.seconds = seconds;
  fault.fixes.push_back({"schedule.rematerialise=none"});
  if (policy == "full") {
    for (const std::string& less : run_file::rematerialise_policies() | std::views::drop(1))
      if (less != policy) fault.fixes.push_back({fmt::format("schedule.rematerialise={}", less)});
  }
  return {std::move(fault)};
}

}  // namespace

LintRule recompute_rule() {
  return {"recompute", "forward results are recomputed though they would fit", false, recompute_faults};
}

}  // namespace shardscope
