#pragma once

#include <QString>
#include <span>
#include <utility>

#include "engine/plan/exposed_wait.h"
#include "engine/session/messages.h"
#include "gui/workspace/workspace.h"
#include "viz/paint/memory_track.h"
#include "viz/paint/timeline_ranks.h"

namespace shardscope {

// A row of the time line: a stage as predicted, one of its streams, its memory, the same of a device on request, or a
// rank as measured.
struct TimelineRow {
  int rank = -1;  // -1: predicted
  int stage = 0;
  const TimelineTrack* track = nullptr;
  QString stream = {};                       // whose transfers these are; empty: what the stage or rank does
  bool is_behind_passes = false;             // the stack hides these transfers
  int device = -1;                           // on request; -1: all of the stage
  const PredictedStep* predicted = nullptr;  // of its stage; none of a rank
  bool is_memory = false;                    // what is held; `track`: what the stage does meanwhile

  bool is_of_time() const { return stream.isEmpty() && !is_memory; }  // of all that a stage or rank does
};

inline double part_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

// What a person reads of a time line of `plan`; `trace`: that its rows of ranks are of.

// How long a training step took beside what was predicted, in seconds, which rank is late, and what is exposed.
QString step_heading(const MeasuredStep& measured, int64_t step, double predicted);
// All that is known of the instruction that a slice of a row is of, for its tool tip.
QString slice_tip(const Workspace& workspace, const Plan& plan, const TraceMessage* trace, const TimelineRow& row,
                  int slice);
// What is in use at a time of a predicted step, of what a device has.
QString memory_tip(const Plan& plan, const MemoryTrack& memory, double seconds);
// An instruction on a row in a line: when it was done, and who waited for whom; of exposed communication that is
// predicted (`exposed`, exposed_wait()) what it waits for, and what would hide it.
QString step_facts(const Plan& plan, const TraceMessage* trace, const TimelineRow& row, int position,
                   const std::optional<ExposedWait>& exposed);
// Where a device is: "data 1, model 0, host 2"; and what a row of its own stands for.
QString device_place(const Plan& plan, int device);
QString device_tip(const Plan& plan, int device);
// How the time of a range is spent; where ranks were measured, on these alone.
QString range_facts(std::span<const TimelineRow> rows, std::pair<double, double> range);

}  // namespace shardscope
