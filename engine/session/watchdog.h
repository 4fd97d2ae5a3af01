#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/session/messages.h"
#include "engine/session/mpirun.h"
#include "engine/session/telemetry.h"

namespace shardscope {

// What is seen of one rank at one moment.
struct RankObservation {
  std::optional<RankStatus> status;  // nothing before the rank has made its telemetry
  char process = 0;                  // state letter of /proc; 0: there is no such process (or none is known yet)
};

struct RunObservation {
  int64_t now_ns = 0;
  std::span<const RankObservation> ranks;
  const ExitReport* report = nullptr;
  std::optional<int> wait_status;  // of the starter (mpirun), once it has ended and all its output is read
};

struct WatchdogLimits {
  int64_t stopped_ns = 2'000'000'000;   // a rank in state T or t for so long has failed
  int64_t report_ns = 3'000'000'000;    // waited for mpirun's word about a rank that has gone
  int64_t shutdown_ns = 8'000'000'000;  // between the last rank's "finished" and the starter's end
};

// Decides, from what is observed again and again, that a run has failed, and names the rank, the signal and the op.
// Pure: knows no process, no clock.
class Watchdog {
 public:
  Watchdog(uint64_t plan_hash, std::vector<PlanStepName> plan_steps, WatchdogLimits limits = {});

  // The failure, once; nothing while the run is well, or its end is a good one (every rank finished, exit code 0).
  std::optional<FailureMessage> look(const RunObservation& run);

 private:
  std::optional<FailureMessage> stopped_rank(const RunObservation& run);
  std::optional<FailureMessage> foreign_plan(const RunObservation& run) const;
  std::optional<FailureMessage> hanging_shutdown(const RunObservation& run);
  bool is_abnormal(const RunObservation& run);
  FailureMessage verdict(const RunObservation& run) const;
  FailureMessage describe(const RunObservation& run, int rank, std::optional<int> signal,
                          std::optional<int> exit_code) const;
  std::string op_name(const RankObservation& rank) const;

  uint64_t plan_hash_;
  std::vector<PlanStepName> plan_steps_;
  WatchdogLimits limits_;
  std::vector<int64_t> stopped_since_;
  std::vector<int64_t> gone_since_;
  std::optional<int64_t> abnormal_since_;
  std::optional<int64_t> finished_since_;
  bool decided_ = false;
};

}  // namespace shardscope
