#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/session/messages.h"

namespace shardscope {

// What was measured of a plan: by a recorded run, or by one that is shown.
struct MeasuredRun {
  double started = 0;                // seconds since 1970
  std::vector<TraceMessage> traces;  // of each choice that there is; they fit the plan
  // Calls `take` with all that a watcher was told, in order (steps that a restart did anew come again).
  std::function<void(const std::function<void(const Message&)>& take)> replay;
};

// What is exported: a plan, and what was measured of it, where it was.
struct ExportSource {
  std::shared_ptr<const Plan> plan;
  std::optional<MeasuredRun> run;
  std::vector<std::string> inputs;  // the files that it comes from: no export is written over them
};

// The source that a recorded run is. Throws Failure: as RecordedRun does, as compile() does, and record_version where
// this program plans its run file otherwise than the one that ran it.
ExportSource recorded_source(const std::string& folder, std::stop_token stop = {});

// What was measured, for something that needs it ("jsonl"). Throws Failure (no_run) where nothing was.
const MeasuredRun& run_of(const ExportSource& source, const std::string& what);

// The trace of that choice, or else the one there is: of the slowest step, of the latest; null without any.
const TraceMessage* trace_of(const ExportSource& source, TraceChoice choice);

}  // namespace shardscope
