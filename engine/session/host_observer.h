#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/control_group.h"
#include "engine/session/exit_watch.h"
#include "engine/session/host_report.h"
#include "engine/session/status_page.h"

namespace shardscope {

// Looks at ranks of the host that it runs on: reads what they say of themselves and their telemetry, which it alone may
// do, and finds their processes.
// What it means is for others to say (Progress, Watchdog), on whatever host they are.
class HostObserver {
 public:
  static constexpr size_t steps_a_look = 512;  // of each rank
  static constexpr int64_t trace_interval_ns = 200'000'000;
  static constexpr int64_t frozen_interval_ns = 500'000'000;

  HostObserver(std::string session_directory, std::vector<int> ranks);

  // What is new since the last look, and how the ranks are. Throws Failure (session_file) when telemetry is damaged.
  HostReport look();

  // The process of a rank that has been launched and has said nothing yet.
  void note_process(int rank, const ProcessId& process);

  // Those that were ever seen; a rank's process is remembered after its end.
  std::vector<ProcessId> processes() const;

 private:
  struct Rank {
    int rank = 0;
    std::optional<TelemetryReader> telemetry;
    ProcessId process;
    bool frozen = false;
    std::optional<RecentOutOfMemoryKills> memory_kills;
    std::optional<ExitWatch> exit_watch;
    std::optional<int32_t> exit_status;
    int64_t seen_ns = 0;                // first
    std::optional<bool> out_of_memory;  // once it has ended
  };
  void look_at_process_of(Rank& rank, RankObservation& observation, bool with_groups);
  RankReport look_at(Rank& rank, bool with_traces, bool with_groups);

  std::string session_directory_;
  std::vector<Rank> ranks_;
  std::optional<StatusPage> page_;
  RecentOutOfMemoryKills own_kills_;  // of ranks that are gone before they are seen
  int64_t traces_looked_ns_ = 0;
  int64_t groups_looked_ns_ = 0;
};

}  // namespace shardscope
