#include "engine/session/rank_phase.h"

#include <algorithm>
#include <array>

#include "engine/base/enum_count.h"

namespace shardscope {

static_assert(rank_phase_count == enum_count<RankPhase>);

namespace {

constexpr std::array<std::string_view, rank_phase_count> names = {"launching", "starting",   "connecting",   "planning",
                                                                  "agreeing",  "allocating", "initialising", "training",
                                                                  "saving",    "finishing"};

}  // namespace

std::string_view name(RankPhase phase) { return names[static_cast<size_t>(phase)]; }

std::optional<RankPhase> rank_phase(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<RankPhase>(found - names.begin());
}

std::vector<std::string_view> rank_phase_names() { return {names.begin(), names.end()}; }

}  // namespace shardscope
