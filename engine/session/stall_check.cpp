#include "engine/session/stall_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace shardscope {

namespace {

// What a rank in this phase is doing.
const char* doing(RankPhase phase, bool has_process) {
  switch (phase) {
    case RankPhase::launching: return has_process ? "has not come to its main" : "has not been started by mpirun";
    case RankPhase::starting: return "has been starting";
    case RankPhase::connecting: return "has been connecting to the other ranks (MPI_Init)";
    case RankPhase::planning: return "has been planning";
    case RankPhase::agreeing: return "has been comparing its plan with the other ranks'";
    case RankPhase::allocating: return "has been allocating its memory";
    case RankPhase::initialising: return "has been making its parameters";
    case RankPhase::training: return "has made no progress";
    case RankPhase::saving: return "has been writing a checkpoint";
    case RankPhase::finishing: return "has been finishing (writing results, leaving MPI)";
  }
  return "";
}

const char* state_text(char state) {
  switch (state) {
    case 'D': return "; its process waits in the kernel and cannot be interrupted (state D)";
    case 'R': return "; its process is busy (state R)";
    case 'S': return "; its process sleeps (state S)";
    default: return "";
  }
}

// Of ranks at the same place, the one more likely to hold up the others comes first. A checkpoint is written by another
// thread than the one whose state is seen.
int innocence(char state) { return state == 'D' ? 0 : state == 'R' ? 1 : 2; }

}  // namespace

std::optional<FailureMessage> StallCheck::look(std::span<const RankObservation> ranks, int64_t now_ns) {
  follow(ranks, now_ns);
  const int rank = last_rank(ranks);
  if (rank < 0) return std::nullopt;
  const RankObservation& observation = ranks[rank];
  const RankPhase phase = phase_of(observation);
  const int64_t limit = limit_ns(phase);
  if (now_ns - since_[rank].since_ns <= limit) return std::nullopt;
  const double seconds = static_cast<double>(limit) * 1e-9;
  if (std::none_of(ranks.begin(), ranks.end(), [](const RankObservation& one) { return one.process.pid != 0; })) {
    return FailureMessage{
        -1, "", "",
        fmt::format("mpirun has started no rank within {:g} s (--deadline {}=SECONDS)", seconds, name(phase))};
  }
  std::vector<int> waiting;
  for (int other = 0; other < static_cast<int>(ranks.size()); ++other) {
    if (other != rank && !has_finished(ranks[other])) waiting.push_back(other);
  }
  std::string text = fmt::format("rank {} {} for {:g} s", rank, doing(phase, observation.process.pid != 0), seconds);
  if (phase == RankPhase::training) text += place_of(observation, plan_steps_.of(rank));
  text += state_text(observation.process_state);
  if (!waiting.empty()) text += fmt::format("; {} wait{} for it", list_ranks(waiting), waiting.size() == 1 ? "s" : "");
  text += fmt::format(" (--deadline {}=SECONDS)", name(phase));
  return FailureMessage{rank, "", current_op(observation, plan_steps_.of(rank)), text};
}

void StallCheck::follow(std::span<const RankObservation> ranks, int64_t now_ns) {
  if (since_.size() != ranks.size()) since_.assign(ranks.size(), {RankPhase::launching, 0, now_ns});
  for (size_t i = 0; i < ranks.size(); ++i) {
    const RankPhase phase = phase_of(ranks[i]);
    const uint64_t heartbeat = ranks[i].status ? ranks[i].status->heartbeat : 0;
    Since& since = since_[i];
    if (phase == since.phase && heartbeat == since.heartbeat) continue;
    if (phase == RankPhase::training && since.phase == phase) {
      longest_ns_ = std::max(longest_ns_, now_ns - since.since_ns);
    }
    since = {phase, heartbeat, now_ns};
  }
}

int StallCheck::last_rank(std::span<const RankObservation> ranks) const {
  const auto place = [&](size_t i) {
    const RankObservation& rank = ranks[i];
    const RankPhase phase = phase_of(rank);
    const bool trains = phase == RankPhase::training && rank.status;
    return std::tuple(phase, trains ? rank.status->training_step : 0, trains ? rank.status->plan_step : 0,
                      phase == RankPhase::saving ? 0 : innocence(rank.process_state), since_[i].since_ns);
  };
  int last = -1;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (!has_finished(ranks[i]) && (last < 0 || place(i) < place(last))) last = static_cast<int>(i);
  }
  return last;
}

int64_t StallCheck::limit_ns(RankPhase phase) const {
  const int64_t limit = limits_.phase_ns[static_cast<size_t>(phase)];
  if (phase != RankPhase::training) return limit;
  return std::max(
      {limit, WatchdogLimits::predicted_steps * limits_.longest_step_ns, WatchdogLimits::measured_steps * longest_ns_});
}

}  // namespace shardscope
