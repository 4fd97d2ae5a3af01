#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/plan/level_lanes.h"
#include "engine/session/step_record.h"
#include "viz/paint/timeline_track.h"

namespace shardscope {

// Neighbouring steps of one phase.
struct PhaseSpan {
  Phase phase = Phase::forward;
  double start = 0, end = 0;
};

// The predicted run of the main sequence of a plan's stage: its steps one after the other, in a pipeline with what the
// stage waits between them. A collective's start, which takes no time, is no slice.
struct PredictedStep {
  // A LevelLane, its parts as slices of part `transfer` where they are exposed, else `hidden`.
  struct Stream {
    std::string name;
    TimelineTrack track;
    bool is_behind_passes = false;
  };

  TimelineTrack track;
  std::vector<Stream> streams;  // of level_lanes()
  std::vector<HiddenTransfer> behind_passes;
  std::vector<PhaseSpan> phases;
  double seconds = 0;
};
std::vector<PredictedStep> predicted_steps(const Plan& plan);  // by stage

// A training step as one rank did it: each plan step when it was really done; a step that communicates is two slices,
// what it waited from its arrival on, and the transfer.
struct RankTimeline {
  int rank = 0;
  int stage = 0;
  TimelineTrack track;
  // What peers waited in all because this rank came last to what they do together, or sent late. Ranks that are late
  // make others wait; they wait least themselves.
  double delayed_others = 0;
};

// The same of all ranks; seconds from the first rank's beginning.
struct MeasuredStep {
  std::vector<RankTimeline> ranks;
  double seconds = 0;  // until the last is done
  double waited = 0;   // all ranks, all steps that communicate

  // Communication during which a rank did nothing else, as shares of the time of all ranks.
  struct Exposed {
    double waiting = 0, transfer = 0;
    double all() const { return waiting + transfer; }
  };
  Exposed exposed() const;
  // The rank that others waited for most; -1 where nobody waited.
  int late_rank() const;
  // Of each stage the rank that waited least (of those the one that was done last), which the others waited for, and
  // the one that waited most: two rows for any number of ranks that do the same steps. One where they are the same. By
  // rank.
  std::vector<int> extremes() const;
};

// `times` by rank and position in its own main sequence; nothing where they are of another plan. Who came late is
// reported among ranks whose clocks can be compared: those of one host.
std::optional<MeasuredStep> measured_step(const Plan& plan, std::span<const std::vector<PlanStepTime>> times);

// How the ranks that take part in one communication step came to it, of a collective to its start (`position` may be
// that of its done, too). Nothing for a step that does not communicate, and where they are of several hosts.
struct Meeting {
  std::vector<int> ranks;
  int last = -1;        // the rank that came last, or sent
  double spread = 0;    // seconds between the first and the last arrival
  double waited = 0;    // by all of them
  double transfer = 0;  // of the slowest
};
std::optional<Meeting> meeting_of(const Plan& plan, std::span<const std::vector<PlanStepTime>> times, int rank,
                                  int position);

}  // namespace shardscope
