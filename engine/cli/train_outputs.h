#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/live_file.h"
#include "engine/base/standard_streams.h"
#include "engine/cli/run_logs.h"
#include "engine/cli/trained_output.h"
#include "engine/plan/plan.h"

namespace shardscope {

// Where a training writes: a line of JSON for each step (--jsonl, which --append adds to), what it leaves at its end
// (--parameters, --predictions), and what it is logged to (--record, --tensorboard). Empty: not that. `force`: what
// exists may be lost.
struct TrainOutputPaths {
  std::string jsonl;
  TrainedPaths trained;
  LogFolders logs;
  bool append = false, force = false;

  // Whether one of them is standard output, which then has nothing else.
  bool take_standard_output() const { return jsonl == standard_stream || trained.predictions == standard_stream; }
};

// All of them, such that a call that is refused changes nothing and a run that fails has lost nothing:
//
//   TrainOutputs outputs(plan, paths, inputs);
//     // each is checked and locked; what is new is written beside what exists
//   ...  // all else for which the run may be refused
//   outputs.begin();
//     // the ranks are about to start: readers find the new files
//   outputs.end(true);
//     // the run has ended well: what was there before goes
//
// What is written while the run goes on is at its path from begin() on, and what was there before beside it, as
// PATH.old or, of a record, in DIR/old, until the end (engine/base/live_file.h); --parameters and --predictions take
// their paths when all of them is written.
class TrainOutputs {
 public:
  // Throws Failure as each does, and output_twice where two would be one file. `inputs`: files that are not to be
  // written.
  TrainOutputs(const Plan& plan, const TrainOutputPaths& paths, std::vector<std::string> inputs);

  // Throws Failure (unwritable_file), with all that was there before as it was; what could not be put back is said.
  void begin();
  // Removes what was replaced where the run has ended well, unless no step takes its place. What of it is kept
  // otherwise is said, a line each.
  std::vector<std::string> end(bool well);

  LiveFile* steps() { return steps_.get(); }  // null: not asked for
  TrainedOutput& trained() { return *trained_; }
  RunLogs& logs() { return *logs_; }

 private:
  std::vector<std::string> kept() const;

  std::unique_ptr<RunLogs> logs_;  // whose folder the others may be in
  std::unique_ptr<LiveFile> steps_;
  std::unique_ptr<TrainedOutput> trained_;
};

}  // namespace shardscope
