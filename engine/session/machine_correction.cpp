#include "engine/session/machine_correction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/plan/cost_model.h"

namespace shardscope {

namespace {

// Less is not worth a change, or is noise.
constexpr double most_off = 1.1, least_share = 0.01;

bool is_off(const FamilyTimes& times, double all) {
  return std::abs(std::log(times.off)) > std::log(most_off) && times.measured > least_share * all;
}

// What the plan's families take on another machine.
std::map<PricedFamily, double> predictions(Plan plan, const TraceMessage& trace, const Machine& machine) {
  plan.machine = machine;
  const WorkPrices prices(machine, plan.mesh, plan.pipeline.axis);
  plan.instruction_seconds = predict_seconds(plan.program, *plan.graph, prices);
  std::map<PricedFamily, double> seconds;
  for (const FamilyTimes& times : family_times(plan, trace)) seconds[times.family] = times.predicted;
  return seconds;
}

}  // namespace

bool MachineCorrection::changes_machine() const { return std::ranges::any_of(families, &Family::is_corrected); }

std::vector<std::string> MachineCorrection::lines() const {
  std::vector<std::string> lines;
  for (const Family& family : families) {
    if (!family.is_off) continue;
    lines.push_back(fmt::format("{}: {:.3g} times as long as predicted, {:.0f} % of the step{}",
                                to_string(family.times.family), family.times.off,
                                100 * family.times.measured / measured,
                                family.is_corrected ? "" : "; most of it is latency, which is not corrected"));
  }
  if (lines.empty())
    lines.push_back(fmt::format("No family of instructions is off by more than {:.0f} %", 100 * (most_off - 1)));
  return lines;
}

MachineCorrection correct_machine(const Plan& plan, const TraceMessage& trace) {
  MachineCorrection correction;
  correction.machine = plan.machine;
  const std::vector<FamilyTimes> all = family_times(plan, trace);
  for (const FamilyTimes& times : all) correction.measured += times.measured;
  for (const FamilyTimes& times : all) {
    const bool off = is_off(times, correction.measured);
    const std::optional<double> slower = off ? times.correction() : std::nullopt;
    correction.families.push_back({times, off, slower.has_value(), times.predicted});
    if (slower)
      correction.machine =
          with_slower(std::move(correction.machine), times.family, *slower, "corrected by a recorded run");
  }
  if (!correction.changes_machine()) return correction;
  const std::map<PricedFamily, double> now = predictions(plan, trace, correction.machine);
  for (MachineCorrection::Family& family : correction.families) family.corrected = now.at(family.times.family);
  return correction;
}

}  // namespace shardscope
