#include "engine/session/host_observer.h"

#include <algorithm>
#include <limits>

namespace shardscope {

namespace {

using Presence = ProcessSight::Presence;

// A rank that was gone when it was first looked for is none of those that may have its number later.
ProcessId identify(int32_t pid, const ProcessSight& sight) {
  if (sight.presence == Presence::there) return sight.info.id;
  return {pid, sight.presence == Presence::gone ? std::numeric_limits<uint64_t>::max() : 0};
}

char state_of(const ProcessId& process, const ProcessSight& sight) {
  if (sight.presence == Presence::unknown) return '?';
  return sight.presence == Presence::there && sight.info.id == process ? sight.info.state : 0;
}

}  // namespace

HostObserver::HostObserver(std::string session_directory, std::vector<int> ranks)
    : session_directory_(std::move(session_directory)) {
  for (int rank : ranks) ranks_.push_back({rank, {}, {}});
}

HostReport HostObserver::look() {
  HostReport report;
  report.now_ns = monotonic_ns();
  const bool with_traces = report.now_ns - traces_looked_ns_ >= trace_interval_ns;
  if (with_traces) traces_looked_ns_ = report.now_ns;
  for (Rank& rank : ranks_) report.ranks.push_back(look_at(rank, with_traces));
  report.more =
      std::ranges::any_of(report.ranks, [](const RankReport& rank) { return rank.steps.size() == steps_a_look; });
  return report;
}

RankReport HostObserver::look_at(Rank& rank, bool with_traces) {
  RankReport report;
  report.rank = rank.rank;
  if (!rank.telemetry) rank.telemetry = TelemetryReader::open(session_directory_, rank.rank);
  if (!rank.telemetry) return report;

  // Status first: a rank seen finished has written all its steps and traces.
  report.sight.status = rank.telemetry->status();
  const RankStatus& status = *report.sight.status;
  const ProcessSight sight = look_at_process(status.pid);
  if (rank.process.start_time == 0) rank.process = identify(status.pid, sight);
  report.sight.process = rank.process;
  report.sight.process_state = state_of(rank.process, sight);
  report.steps = rank.telemetry->take_steps(steps_a_look);
  const bool is_over = status.state == RankState::finished || status.state == RankState::failed;
  if (!with_traces && !is_over) return report;
  for (TraceChoice choice : {TraceChoice::latest, TraceChoice::slowest}) {
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
