#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/process.h"
#include "engine/session/rank_entry.h"
#include "engine/session/telemetry.h"

namespace shardscope {

// In the place of a state letter: its control group is frozen.
inline constexpr char frozen_process = 'F';

// What is seen of one rank at one moment, on its host.
struct RankObservation {
  RankEntry entry;                   // what it says of itself, from the beginning of its main
  std::optional<RankStatus> status;  // nothing before the rank has made its telemetry
  ProcessId process;                 // pid 0 before it is known
  // State letter of /proc, or frozen_process; 0: there is no such process (or none is known yet); '?': it cannot be
  // reported.
  char process_state = 0;
  std::optional<int32_t> exit_status;  // as waitpid gives it; of a process that has ended, where the kernel tells it
  bool out_of_memory = false;          // it has ended, and the kernel has killed for lack of memory in its group
  bool operator==(const RankObservation&) const = default;
};

// A rank's observation, and what it has measured since the last report.
struct RankReport {
  int rank = 0;
  RankObservation observation;
  std::vector<StepRecord> steps;                          // oldest first, without gaps from report to report
  std::vector<std::pair<TraceChoice, RankTrace>> traces;  // those that are new
  std::optional<RankExpertLoad> load;                     // of the newest step, where it is new
  bool operator==(const RankReport&) const = default;
};

// What is seen of the ranks of one host at one moment: a plain value, small enough to send many times a second.
struct HostReport {
  int64_t now_ns = 0;  // of the host's CLOCK_MONOTONIC, as all times of its ranks; so now_ns - heartbeat_ns is an age
  bool more = false;   // there were more steps than a report takes: look again at once
  std::vector<RankReport> ranks;
  bool operator==(const HostReport&) const = default;
};

// As bytes, for a host that starts ranks and one that watches them; of the same build (RunHosts sees to that), so no
// version.
std::string encode(const HostReport& report);
// Throws Failure (bad_report), whose place is the byte at which it is wrong.
HostReport decode_host_report(std::string_view bytes);

}  // namespace shardscope
