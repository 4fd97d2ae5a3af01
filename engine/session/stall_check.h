#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/session/deadlines.h"
#include "engine/session/messages.h"
#include "engine/session/rank_words.h"

namespace shardscope {

// Finds the rank for which a run has waited too long: of those that are furthest behind (in the earliest phase; in
// training, at the earliest plan step) the one that has not moved for longest. Others only wait for it. Pure; times are
// of the run's clock, and only what changes from look to look counts, so ranks may be of hosts with other clocks.
class StallCheck {
 public:
  StallCheck(const WatchdogLimits& limits, const PlanStepNames& plan_steps)
      : limits_(limits), plan_steps_(plan_steps) {}

  std::optional<FailureMessage> look(std::span<const RankObservation> ranks, int64_t now_ns);
  // All deadlines begin anew.
  void restart() { since_.clear(); }

 private:
  struct Since {
    RankPhase phase = RankPhase::launching;
    uint64_t heartbeat = 0;
    int64_t since_ns = 0;
  };
  void follow(std::span<const RankObservation> ranks, int64_t now_ns);
  int last_rank(std::span<const RankObservation> ranks) const;
  int64_t limit_ns(RankPhase phase) const;

  const WatchdogLimits& limits_;
  const PlanStepNames& plan_steps_;
  std::vector<Since> since_;
  int64_t longest_ns_ = 0;  // between heartbeats, so far
};

}  // namespace shardscope
