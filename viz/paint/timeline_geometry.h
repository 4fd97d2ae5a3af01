#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/session/step_record.h"

namespace shardscope {

// A stretch of time in which one step of the main sequence runs; seconds from the start of the training step.
struct TimelineSlice {
  double start = 0, end = 0;
  int step = -1;  // its position
};

// Slices in order of start that do not overlap.
struct TimelineLane {
  std::vector<TimelineSlice> slices;
  double seconds = 0;  // of all of them

  void add(double start, double end, int step);
};

// Neighbouring steps of one phase.
struct PhaseSpan {
  Phase phase = Phase::forward;
  double start = 0, end = 0;
};

// The predicted run of a plan's main sequence: its steps one after the other; local work and collectives on lanes of
// their own.
struct PredictedTimeline {
  TimelineLane compute;
  TimelineLane collectives;
  std::vector<PhaseSpan> phases;
  double seconds = 0;
};
PredictedTimeline predict(const Plan& plan);

// A training step as one rank did it: each plan step when it was really done, from the rank's coming to the first. The
// time that a collective waited for peers lies on a lane of its own.
struct MeasuredTimeline {
  TimelineLane compute;
  TimelineLane collectives;
  TimelineLane waiting;
  double seconds = 0;
};
// `times` by position; nothing where they are of another plan.
std::optional<MeasuredTimeline> measured_timeline(const Plan& plan, std::span<const PlanStepTime> times);

// What is drawn of a lane: one slice, or several neighbours folded into one bar because they are too narrow to tell
// apart.
struct TimelineBar {
  double x = 0, width = 0;  // pixels
  int first = 0, last = 0;  // slices
  bool folded() const { return first != last; }
};

// The bars of a lane in the window [begin, end] seconds drawn on `pixels`. Found by binary search; slices narrower than
// `least` pixels are folded with those that follow within the same `least` pixels, so the cost is O(pixels log n),
// whatever the number of slices (after Tracy, TimelineItemThread).
std::vector<TimelineBar> visible_bars(std::span<const TimelineSlice> slices, double begin, double end, double pixels,
                                      double least = 3);

}  // namespace shardscope
