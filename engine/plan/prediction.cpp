#include "engine/plan/prediction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/units.h"

namespace shardscope {

PredictedRange predicted_range(double predicted, double mean_error) {
  if (mean_error <= 0) return std::nullopt;
  return std::pair(predicted / (1 + mean_error), predicted * (1 + mean_error));
}

PredictedRange seconds_range(const Plan& plan) {
  return predicted_range(plan.totals.seconds_per_step, plan.machine.evidence.time_error);
}

PredictedRange memory_range(const Plan& plan) {
  return predicted_range(static_cast<double>(plan.totals.device_bytes), plan.machine.evidence.memory_error);
}

std::string unverified_text(const std::string& machine, const std::string& stack) {
  return fmt::format("no measurements of {} as {} runs it", machine, stack);
}

std::vector<ExposedAxes> most_exposed_by_axes(const Plan& plan) {
  const auto& stages = plan.simulation.communication;
  const auto most = std::ranges::max_element(stages, {}, &Simulation::Communication::exposed);
  if (most == stages.end() || most->exposed <= 0) return {};
  return exposed_by_axes(plan, static_cast<int>(most - stages.begin()));
}

std::string to_string(const std::vector<ExposedAxes>& exposed) {
  std::string text;
  for (const auto& [axes, seconds] : exposed)
    text += fmt::format("{}{} over {}", text.empty() ? "" : ", ", seconds_text(seconds), fmt::join(axes, ","));
  return text;
}

}  // namespace shardscope
