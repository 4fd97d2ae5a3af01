#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/export/export_target.h"
#include "engine/plan/plan.h"
#include "engine/session/recorded_run.h"

namespace shardscope {

// What was measured of a plan: by a recorded run, or by one that is shown.
struct MeasuredRun {
  std::optional<double> started;     // seconds since 1970, where it is known
  std::vector<TraceMessage> traces;  // of each choice that there is; they fit the plan
  // Calls `take` with all that a client was sent, in order (steps that a restart did anew come again).
  std::function<void(const std::function<void(const Message&)>& take)> replay;
};

// What is exported: a plan, and what was measured of it, where it was.
struct ExportSource {
  std::shared_ptr<const Plan> plan;  // null: the config alone, for a kind that needs no plan
  std::optional<MeasuredRun> run;
  std::vector<std::string> inputs;  // the files that it comes from: no export is written over them
  std::optional<RunConfig> config;  // without a plan
  std::string record = {};          // the folder of the recorded run that it is; else empty
};

// All that a record has.
MeasuredRun measured_run(std::shared_ptr<const RecordedRun> run);

// The source that a recorded run is. Throws Failure: as RecordedRun does, as compile() does, and record_version where
// this program plans its run file otherwise than the one that ran it.
ExportSource recorded_source(const std::string& folder, std::stop_token stop = {});

// What was measured, for something that needs it ("jsonl"). Throws Failure (no_run) where nothing was.
const MeasuredRun& run_of(const ExportSource& source, const std::string& what);

// Tells the steps of the run and its restarts, in order, with the target's progress, and notes how many steps there
// were.
void replay_steps(const ExportSource& source, ExportTarget& target,
                  const std::function<void(const StepMessage&)>& on_step,
                  const std::function<void(const RestartMessage&)>& on_restart);

// The trace of that choice (of the median step where there is none), or else the one there is: of the slowest step, of
// the latest; null without any.
const TraceMessage* trace_of(const ExportSource& source, std::optional<TraceChoice> choice);

}  // namespace shardscope
