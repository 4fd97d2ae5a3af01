#include "engine/plan/advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <string>

namespace shardscope {

namespace {

// By the mesh axes that it is over: bit a is axis a.
using SecondsByAxes = std::array<double, 128>;

double sum(const SecondsByAxes& seconds) { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

// Of a stage in a step: the time in which it does nothing else.
SecondsByAxes communication(const Plan& plan, int stage) {
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

std::optional<Error> too_much_communication(const Plan& plan) {
  std::vector<SecondsByAxes> stages;
  for (int stage = 0; stage < plan.program.stages; ++stage) stages.push_back(communication(plan, stage));
  const auto worst = std::ranges::max_element(stages, {}, sum);
  const SecondsByAxes& by_axes = *worst;
  const double seconds = sum(by_axes), step = plan.totals.seconds_per_step;
  if (seconds <= most_communication * step) return std::nullopt;
  const auto most = std::ranges::max_element(by_axes);
  const auto axes = static_cast<size_t>(most - by_axes.begin());
  std::vector<std::string> names;
  for (size_t axis = 0; axis < plan.mesh.axes().size(); ++axis) {
    if ((axes >> axis) & 1) names.push_back("'" + plan.mesh.axes()[axis].name + "'");
  }
  const std::string over = fmt::format("{}", fmt::join(names, " and "));
  std::string hint = fmt::format("fewer devices along {}, or a larger batch", over);
  if (plan.pipeline.shape.microbatches > 1) hint += ", or fewer and larger microbatches";
  if (plan.as_written) hint += ", or sharding.mode \"fastest\"";
  return Error{
      "communication",
      fmt::format("communication takes {:.0f} % of a predicted step{}, {:.3g} of {:.3g} ms, most of it over {} "
                  "({:.3g} ms); more than {:.0f} % is worth a change",
                  100 * seconds / step, stages.size() > 1 ? fmt::format(" on stage {}", worst - stages.begin()) : "",
                  seconds * 1e3, step * 1e3, over, *most * 1e3, 100 * most_communication),
      fmt::format("mesh.axes[{}]", std::countr_zero(axes)), std::move(hint)};
}

std::optional<Error> too_much_fragmentation(const Plan& plan) {
  const double share = plan.totals.fragmentation();
  const int64_t unused = plan.totals.memory_total - plan.totals.live_lower_bound;
  if (share <= most_fragmentation || unused < least_fragmented_bytes) return std::nullopt;
  return Error{"fragmentation",
               fmt::format("at its peak {:.0f} % of the arena, {:.1f} of {:.1f} MiB, lies unused between buffers",
                           100 * share, static_cast<double>(unused) / least_fragmented_bytes,
                           static_cast<double>(plan.totals.memory_total) / least_fragmented_bytes),
               "schedule", "another rematerialisation or number of microbatches changes what is held at the peak"};
}

}  // namespace

std::vector<Error> advice(const Plan& plan) {
  std::vector<Error> list;
  if (std::optional<Error> said = too_much_communication(plan)) list.push_back(std::move(*said));
  if (std::optional<Error> said = too_much_fragmentation(plan)) list.push_back(std::move(*said));
  if (!plan.pipeline.axis) return list;
  std::vector<double> stages;
  for (const PlanTotals& stage : plan.pipeline.totals) {
    stages.push_back(stage.seconds_per_step / plan.pipeline.shape.microbatches);
  }
  if (std::optional<Error> said = stage_imbalance(stages, "pipeline.layers")) list.push_back(std::move(*said));
  return list;
}

std::optional<Error> stage_imbalance(std::span<const double> stage_seconds, Place place, double most_idle) {
  if (stage_seconds.size() < 2) return std::nullopt;
  const auto [fastest, slowest] = std::ranges::minmax_element(stage_seconds);
  const double mean =
      std::accumulate(stage_seconds.begin(), stage_seconds.end(), 0.0) / static_cast<double>(stage_seconds.size());
  const double idle = *slowest > 0 ? 1 - mean / *slowest : 0;
  if (idle <= most_idle) return std::nullopt;
  const auto number = [&](auto stage) { return stage - stage_seconds.begin(); };
  return Error{
      "imbalance",
      fmt::format("stage {} computes {:.3g} ms for a microbatch, the mean of {} stages is {:.3g} ms: they wait "
                  "{:.0f} % of the time for it",
                  number(slowest), *slowest * 1e3, stage_seconds.size(), mean * 1e3, 100 * idle),
      std::move(place),
      fmt::format("move layers from stage {} to stage {}, which computes {:.3g} ms", number(slowest), number(fastest),
                  *fastest * 1e3)};
}

}  // namespace shardscope
