#include "engine/session/host_observer.h"

#include <unistd.h>

#include <algorithm>
#include <limits>

namespace shardscope {

namespace {

using Presence = ProcessObservation::Presence;

// A rank that was gone when it was first looked for is none of those that may have its number later.
ProcessId identify(int32_t pid, const ProcessObservation& observation) {
  if (observation.presence == Presence::there) return observation.info.id;
  return {pid, observation.presence == Presence::gone ? std::numeric_limits<uint64_t>::max() : 0};
}

char state_of(const ProcessId& process, const ProcessObservation& observation) {
  if (observation.presence == Presence::unknown) return '?';
  return observation.presence == Presence::there && observation.info.id == process ? observation.info.state : 0;
}

}  // namespace

HostObserver::HostObserver(std::string session_directory, std::vector<int> ranks)
    : session_directory_(std::move(session_directory)), own_kills_(::getpid(), monotonic_ns()) {
  for (int rank : ranks) ranks_.emplace_back().rank = rank;
}

void HostObserver::note_process(int rank, const ProcessId& process) {
  const auto found = std::ranges::find(ranks_, rank, &Rank::rank);
  if (found != ranks_.end() && found->process.pid == 0) found->process = process;
}

HostReport HostObserver::look() {
  HostReport report;
  report.now_ns = monotonic_ns();
  const bool with_traces = report.now_ns - traces_looked_ns_ >= trace_interval_ns;
  if (with_traces) traces_looked_ns_ = report.now_ns;
  const bool with_groups = report.now_ns - groups_looked_ns_ >= frozen_interval_ns;
  if (with_groups) groups_looked_ns_ = report.now_ns;
  own_kills_.resume(report.now_ns);
  for (Rank& rank : ranks_) report.ranks.push_back(look_at(rank, with_traces, with_groups));
  report.more =
      std::ranges::any_of(report.ranks, [](const RankReport& rank) { return rank.steps.size() == steps_a_look; });
  return report;
}

// A frozen process is in state D or S, as one that waits; its group is looked at when it has been still for a while.
void HostObserver::look_at_process_of(Rank& rank, RankObservation& observation, bool with_groups) {
  const int32_t pid = observation.entry.process.pid ? observation.entry.process.pid
                      : observation.status          ? observation.status->pid
                                                    : 0;
  if (pid != 0 && (rank.process.pid != pid || rank.process.start_time == 0)) {
    rank.process =
        observation.entry.process.start_time ? observation.entry.process : identify(pid, look_at_process(pid));
  }
  if (rank.process.pid == 0) return;
  observation.process = rank.process;
  observation.process_state = state_of(rank.process, look_at_process(rank.process.pid));
  if (!rank.exit_watch && observation.process_state != 0) rank.exit_watch.emplace(rank.process.pid);
  const bool ended = observation.process_state == 0 || observation.process_state == 'Z';
  if (!ended) {
    if (!rank.memory_kills) {
      rank.memory_kills.emplace(rank.process.pid, monotonic_ns());
      rank.seen_ns = monotonic_ns();
    }
    rank.memory_kills->resume(monotonic_ns());
  } else if (!rank.out_of_memory) {
    // One that was seen late may have been dying then.
    const bool hardly_seen = monotonic_ns() - rank.seen_ns < RecentOutOfMemoryKills::interval_ns;
    rank.out_of_memory = (rank.memory_kills && rank.memory_kills->count() > 0) ||
                         ((!rank.memory_kills || hardly_seen) && own_kills_.count() > 0);
  }
  if (ended && !rank.exit_status && rank.exit_watch) rank.exit_status = rank.exit_watch->status();
  observation.exit_status = rank.exit_status;
  observation.out_of_memory = rank.out_of_memory.value_or(false);
  const bool waits = observation.process_state == 'D' || observation.process_state == 'S';
  const bool is_still = !observation.status || monotonic_ns() - observation.status->heartbeat_ns > frozen_interval_ns;
  if (!waits || !is_still) rank.frozen = false;
  else if (with_groups) rank.frozen = is_frozen(rank.process.pid);
  if (rank.frozen) observation.process_state = frozen_process;
}

RankReport HostObserver::look_at(Rank& rank, bool with_traces, bool with_groups) {
  RankReport report;
  report.rank = rank.rank;
  if (!page_) page_ = StatusPage::open(session_directory_);
  if (page_) report.observation.entry = page_->read(rank.rank);
  if (!rank.telemetry) rank.telemetry = TelemetryReader::open(session_directory_, rank.rank);

  // Status first: a rank seen finished has written all its steps and traces.
  if (rank.telemetry) report.observation.status = rank.telemetry->status();
  look_at_process_of(rank, report.observation, with_groups);
  if (!rank.telemetry) return report;
  const RankStatus& status = *report.observation.status;
  report.steps = rank.telemetry->take_steps(steps_a_look);
  const bool is_over = status.state == RankState::finished || status.state == RankState::failed;
  if (!with_traces && !is_over) return report;
  report.load = rank.telemetry->take_expert_load();
  for (TraceChoice choice : trace_choices) {
    if (auto trace = rank.telemetry->take_trace(choice)) report.traces.emplace_back(choice, std::move(*trace));
  }
  return report;
}

std::vector<ProcessId> HostObserver::processes() const {
  std::vector<ProcessId> found;
  for (const Rank& rank : ranks_) {
    if (rank.process.pid != 0) found.push_back(rank.process);
  }
  return found;
}

}  // namespace shardscope
