#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/session/deadlines.h"
#include "engine/session/host_report.h"
#include "engine/session/messages.h"
#include "engine/session/mpirun.h"
#include "engine/session/stall_check.h"

namespace shardscope {

struct RunObservation {
  int64_t now_ns = 0;  // of a clock that stands still while the run is paused
  std::span<const RankObservation> ranks;
  const ExitReport* report = nullptr;
  std::optional<int> wait_status;  // of the launcher (mpirun), once it has ended and all its output is read
  char launcher_state = 'S';       // its letter, as a rank's
};

// For the sentence about a rank that the kernel has killed for lack of memory; 0: not known.
struct MemoryFacts {
  int64_t rank_bytes = 0;        // planned
  int64_t available_bytes = 0;   // to all ranks of the host
  int64_t checkpoint_bytes = 0;  // that all ranks copy for a checkpoint
};

// Decides, from what is observed again and again, that a run has failed, and names the rank, the signal and the op.
// The earliest cause wins: an error that a rank says of itself, unless that is about a peer; then a death, by mpirun's
// word where it has one, else by the kernel's; then the complaints of peers. A death that only mpirun can explain is
// waited for longer while mpirun lives. Once every rank has finished and exited, all outputs are written: what mpirun
// does then (it hangs, fails, is killed) is a notice. Pure: knows no process, no clock.
class Watchdog {
 public:
  Watchdog(uint64_t plan_hash, PlanStepNames plan_steps, const WatchdogLimits& limits = {}, MemoryFacts memory = {});
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // The failure, once; nothing while the run is well, or its end is a good one (every rank finished).
  std::optional<FailureMessage> look(const RunObservation& run);
  // Of that failure: a rank was lost (killed, stopped, stuck), which may not happen again; false where the ranks would
  // fail in the same way.
  bool lost_a_rank() const { return lost_a_rank_; }
  // Every rank has finished and exited, and mpirun did not follow them in time: it is to be ended.
  bool abandons_launcher() const { return abandons_launcher_; }
  // What a person should know although nothing has failed: a debugger holds a rank, mpirun has failed after the ranks
  // had finished. Each once.
  std::vector<std::string> take_notices();

 private:
  std::optional<FailureMessage> decide(const RunObservation& run);
  std::optional<FailureMessage> halted(const RunObservation& run);
  std::optional<FailureMessage> foreign_plan(const RunObservation& run) const;
  std::optional<FailureMessage> hanging_shutdown(const RunObservation& run);
  void look_at_idle_launcher(const RunObservation& run);
  bool awaits_word(const RunObservation& run) const;
  int first_vanished(const RunObservation& run) const;
  bool was_killed_by_others(const RunObservation& run, int rank) const;
  bool is_abnormal(const RunObservation& run) const;
  bool waits_for_debugger(const RunObservation& run);
  FailureMessage verdict(const RunObservation& run);
  FailureMessage lost(const RunObservation& run, int rank, const std::string& what, const std::string& signal = "");
  FailureMessage killed(const RunObservation& run, int rank, int signal);
  FailureMessage own_error(const RunObservation& run, int rank) const;

  uint64_t plan_hash_;
  PlanStepNames plan_steps_;
  WatchdogLimits limits_;
  MemoryFacts memory_;
  StallCheck stall_;
  std::vector<int64_t> halted_since_;  // of the ranks, then of the launcher
  std::vector<int64_t> gone_since_;
  std::vector<bool> debugged_;
  std::vector<std::string> notices_;
  std::optional<int64_t> abnormal_since_;
  std::optional<int64_t> finished_since_;
  bool lost_a_rank_ = false;
  bool abandons_launcher_ = false;
  bool decided_ = false;
};

}  // namespace shardscope
