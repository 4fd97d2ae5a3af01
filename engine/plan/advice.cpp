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

// Seconds of a step's collectives, by the axes that they are over: bit a is axis a.
std::array<double, 128> communication(const Plan& plan) {
  std::vector<int> runs(plan.program.tasks.size());
  for (const TaskRun& run : plan.program.main().runs) ++runs[static_cast<size_t>(run.task)];
  std::array<double, 128> seconds{};
  for (size_t task = 0; task < runs.size(); ++task) {
    if (runs[task] == 0) continue;
    const std::vector<Step>& steps = plan.program.tasks[task].steps;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (!is_collective(steps[i].kind)) continue;
      size_t axes = 0;
      for (AxisIndex axis : steps[i].axes) axes |= size_t{1} << axis;
      seconds[axes] += runs[task] * plan.step_seconds[{static_cast<int>(task), static_cast<int>(i)}];
    }
  }
  return seconds;
}

std::optional<Error> too_much_communication(const Plan& plan) {
  const std::array<double, 128> by_axes = communication(plan);
  const double seconds = std::accumulate(by_axes.begin(), by_axes.end(), 0.0), step = plan.totals.seconds_per_step;
  if (seconds <= most_communication * step) return std::nullopt;
  const auto most = std::ranges::max_element(by_axes);
  const auto axes = static_cast<size_t>(most - by_axes.begin());
  std::vector<std::string> names;
  for (size_t axis = 0; axis < plan.mesh.axes().size(); ++axis) {
    if ((axes >> axis) & 1) names.push_back("'" + plan.mesh.axes()[axis].name + "'");
  }
  const std::string over = fmt::format("{}", fmt::join(names, " and "));
  std::string hint = fmt::format("fewer devices along {}, or a larger batch", over);
  if (plan.config.schedule.microbatches > 1) hint += ", or fewer and larger microbatches";
  if (plan.config.sharding.mode == LayoutMode::as_written) hint += ", or sharding.mode \"cheapest\"";
  return Error{
      "communication",
      fmt::format("communication takes {:.0f} % of a predicted step, {:.3g} of {:.3g} ms, most of it over {} "
                  "({:.3g} ms); more than {:.0f} % is worth a change",
                  100 * seconds / step, seconds * 1e3, step * 1e3, over, *most * 1e3, 100 * most_communication),
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
