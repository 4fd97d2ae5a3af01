#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "engine/base/units.h"
#include "engine/lint/rules/mesh_changes.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

constexpr double most_communication = 0.2;  // of a step; the number of "Model Parallelism" (Workshop)

// By the mesh axes that it is over: bit a is axis a.
using SecondsByAxes = std::array<double, 128>;

double sum(const SecondsByAxes& seconds) { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

// Of a stage in a step: the time in which it does nothing else.
SecondsByAxes exposed(const Plan& plan, int stage) {
  const std::vector<Simulation::Span>& spans = plan.simulation.stages[static_cast<size_t>(stage)];
  SecondsByAxes seconds{};
  for (const TaskRun& run : plan.program.main(stage).runs) {
    const Task& task = plan.program.tasks[static_cast<size_t>(run.task)];
    for (int place = 0; place < task.size(); ++place) {
      const Instruction& instruction = task.issued(place);
      const CollectiveDone* done = instruction.as<CollectiveDone>();
      if (!done && !is_transfer(instruction.kind())) continue;
      size_t axes = done ? 0 : size_t{1} << *plan.pipeline.axis;
      if (done) {
        for (AxisIndex axis : task.instructions[static_cast<size_t>(done->start)].axes()) axes |= size_t{1} << axis;
      }
      const auto& [start, end] = spans[static_cast<size_t>(run.first + place)];
      seconds[axes] += end - start;
    }
  }
  return seconds;
}

void add_fixes(const LintSubject& subject, size_t axes, Fault& fault) {
  const RunConfig& config = subject.config;
  if (config.schedule.overlap == OverlapMode::off) fault.fixes.push_back({"schedule.overlap=auto"});
  if (config.sharding.mode == LayoutMode::as_written) fault.fixes.push_back({"sharding.mode=fastest"});
  for (const AxisUse& axis : subject.axes) {
    if (!(axes >> axis.axis & 1) || axis.is_pipeline) continue;
    for (Settings& moved : moved_to_rows(subject, axis.axis)) fault.fixes.push_back(std::move(moved));
  }
  const int64_t microbatches = config.schedule.microbatches;
  for (int64_t fewer = microbatches - 1; fewer > 0; --fewer) {
    if (microbatches % fewer == 0) fault.fixes.push_back({fmt::format("schedule.microbatches={}", fewer)});
  }
}

std::vector<Fault> communication_faults(const LintSubject& subject) {
  const Plan& plan = subject.plan;
  std::vector<SecondsByAxes> stages;
  for (int stage = 0; stage < plan.program.stages; ++stage) stages.push_back(exposed(plan, stage));
  const auto worst = std::ranges::max_element(stages, {}, sum);
  const SecondsByAxes& by_axes = *worst;
  const double seconds = sum(by_axes), step = subject.step_seconds();
  if (seconds <= most_communication * step) return {};
  const auto most = std::ranges::max_element(by_axes);
  const auto axes = static_cast<size_t>(most - by_axes.begin());
  std::vector<std::string> names;
  for (size_t axis = 0; axis < plan.mesh.axes().size(); ++axis) {
    if ((axes >> axis) & 1) names.push_back("'" + plan.mesh.axes()[axis].name + "'");
  }
  const std::string over = fmt::format("{}", fmt::join(names, " and "));
  Fault fault;
  fault.place = fmt::format("mesh.axes[{}]", std::countr_zero(axes));
  fault.message = fmt::format(
      "communication takes {:.0f} % of a predicted step{}, {} of {}, most of it over {} "
      "({}); more than {:.0f} % is worth a change",
      100 * seconds / step, stages.size() > 1 ? fmt::format(" on stage {}", worst - stages.begin()) : "",
      seconds_text(seconds), seconds_text(step), over, seconds_text(*most), 100 * most_communication);
  fault.seconds = seconds;
  add_fixes(subject, axes, fault);
  fault.no_fix = fmt::format("fewer devices along {}, or a larger batch", over);
  if (plan.pipeline.shape.microbatches > 1) fault.no_fix += ", or fewer and larger microbatches";
  if (plan.as_written) fault.no_fix += ", or sharding.mode \"fastest\"";
  return {std::move(fault)};
}

}  // namespace

LintRule communication_rule() {
  return {"communication", "more than a fifth of the step is waiting for collectives and transfers", true,
          communication_faults};
}

}  // namespace shardscope
