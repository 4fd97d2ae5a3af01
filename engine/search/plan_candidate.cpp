#include <fmt/format.h>

#include <algorithm>

#include "engine/compile/predicted_plan.h"
#include "engine/plan/utilisation.h"
#include "engine/search/search.h"

namespace shardscope {

bool is_faster(const Found& a, const Found& b) {
  if (a.seconds != b.seconds) return a.seconds < b.seconds;
  if (a.memory_bytes != b.memory_bytes) return a.memory_bytes < b.memory_bytes;
  return a.index < b.index;
}

std::optional<Found> plan_candidate(const SearchRequest& request, const Candidate& candidate, std::stop_token stop) {
  Found found;
  found.candidate = candidate;
  try {
    const Plan plan = predicted_plan({run_of(request.plan.config, candidate), request.plan.machine}, stop);
    found.seconds = plan.totals.seconds_per_step;
    found.memory_bytes = static_cast<double>(plan.totals.device_bytes);
    if (found.seconds > 0) found.exposed_share = plan.simulation.most_exposed() / found.seconds;
    found.bubble = plan.simulation.bubble;
    found.mfu = utilisation(plan).mfu();
  } catch (const Failure&) {
    return std::nullopt;
  }
  const double computing = 1 - found.exposed_share - found.bubble;
  found.limit = found.bubble > std::max(computing, found.exposed_share) ? "bubble"
                : found.exposed_share > computing                       ? "communication"
                                                                        : "compute";
  return found;
}

std::string refusal_of(const SearchRequest& request, const Candidate& candidate) {
  try {
    predicted_plan({run_of(request.plan.config, candidate), request.plan.machine}, {});
  } catch (const Failure& failure) {
    return fmt::format("{}: {}", text_of(candidate), to_string(failure.errors().front()));
  }
  return {};
}

std::vector<Found> fastest_of(const std::vector<Found>& found, size_t most) {
  constexpr double rounding = 1e-9;
  std::vector<Found> fastest;
  for (const Found& one : found) {
    if (fastest.size() == most) break;
    const bool is_repeated = std::ranges::any_of(fastest, [&](const Found& listed) {
      Candidate reordered = one.candidate;
      reordered.strategy.order = listed.candidate.strategy.order;
      return reordered == listed.candidate && one.memory_bytes == listed.memory_bytes &&
             one.seconds <= listed.seconds * (1 + rounding);
    });
    if (!is_repeated) fastest.push_back(one);
  }
  return fastest;
}

std::vector<Found> pareto_front(std::vector<Found> found) {
  std::ranges::sort(found, is_faster);
  std::vector<Found> front;
  for (Found& each : found) {
    if (front.empty() || each.memory_bytes < front.back().memory_bytes) front.push_back(std::move(each));
  }
  return front;
}

}  // namespace shardscope
