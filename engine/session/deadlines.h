#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/session/rank_phase.h"

namespace shardscope {

// How long each thing may take before the run has failed. A phase's deadline counts while no rank is behind it, so a
// rank is never blamed for waiting. While training it is the time without a heartbeat (a plan step begun), while saving
// that without a call to write the checkpoint.
struct WatchdogLimits {
  std::array<int64_t, rank_phase_count> phase_ns;
  int64_t longest_step_ns = 0;          // predicted, of the plan's steps
  int64_t stopped_ns = 2'000'000'000;   // a rank, or mpirun, is stopped or frozen
  int64_t report_ns = 3'000'000'000;    // waited for mpirun's word about a rank that has gone; `late_reports` times
                                        // as long where nothing else can tell how that ended
  int64_t shutdown_ns = 8'000'000'000;  // between the last rank's "finished" and the launcher's end
  int64_t agent_ns = 12'000'000'000;    // until the agents of all hosts have come
  int64_t host_ns = 10'000'000'000;     // a host does not answer
  int64_t stopping_ns = 5'000'000'000;  // after the first interrupt, without a sign of life, until the end by force;
                                        // a checkpoint that is being written has the time of its phase

  // What a heartbeat may take beyond its deadline, in the longest steps that were predicted and measured.
  static constexpr int64_t predicted_steps = 20, measured_steps = 5;
  static constexpr int64_t late_reports = 5;

  WatchdogLimits();
};

// Eleven seconds for each phase, and what the plan asks for beyond: for its size, its time to plan, its ranks, how many
// of them share a core, and where its data are read from files, of which a rank may read much before it trains:
// `compared_bytes` at least, to tell whether they are still the same.
WatchdogLimits deadlines_of(const Plan& plan, bool reads_files, int64_t compared_bytes = 0);

// The names that set_deadline() knows: the phases, "stopped", "ending", "stopping", "agent" and "host".
std::vector<std::string> deadline_names();
// "training=60", in seconds, above 0. Throws Failure (bad_argument).
void set_deadline(WatchdogLimits& limits, const std::string& assignment);

}  // namespace shardscope
