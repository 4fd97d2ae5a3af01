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

// Whether a step moves data between devices.

// The predicted run of the main sequence of a plan's stage: its steps one after the other, in a pipeline with what the
// stage waits between them; local work and communication on lanes of their own.
struct PredictedTimeline {
  TimelineLane compute;
  TimelineLane collectives;  // and sends and receives
  std::vector<PhaseSpan> phases;
  double seconds = 0;
};
PredictedTimeline predict(const Plan& plan, int stage = 0);

// A training step as one rank did it: each plan step when it was really done, from the rank's coming to the first. The
// time that communication waited for peers lies on a lane of its own.
struct MeasuredTimeline {
  TimelineLane compute;
  TimelineLane collectives;
  TimelineLane waiting;
  double seconds = 0;
};
// `times` by position of the stage's main sequence; nothing where they are of another plan.
std::optional<MeasuredTimeline> measured_timeline(const Plan& plan, std::span<const PlanStepTime> times, int stage = 0);

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
