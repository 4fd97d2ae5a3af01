#pragma once

#include <deque>
#include <memory>
#include <string>

#include "engine/base/live_file.h"
#include "engine/cli/bounded_output.h"
#include "engine/cli/training_output.h"
#include "engine/plan/plan.h"
#include "engine/session/messages.h"

namespace shardscope {

// What a run prints that this process supervises: the training's lines to standard output, its steps to a file, what
// goes wrong to standard error. A pipe or terminal whose reader is slow, stopped or gone never makes supervision wait;
// what a reader misses is counted, and said at the end. What ranks and mpirun say is made printable(); mpirun's own
// words are kept, and said only where no rank is to blame.
class RunOutput {
 public:
  // `steps`: the caller's file for them, or null. `prints_lines`: else those are left out.
  RunOutput(LiveFile* steps, bool prints_lines);

  // False when lines or steps could not be written.
  bool begin(const Plan& plan);
  bool take(const Message& message);
  void say(const std::string& text);   // to standard error
  void note(const std::string& text);  // likewise, unless the process is quiet

  // Waits for the readers for a while, a short one after a failure, says what they have missed, and gives the exit code
  // of a run that would have had `code`: that of SIGPIPE, by which this process is to end as others do, where nobody
  // reads standard output any more, and all else is well, unless that signal is ignored.
  int finish(int code);

 private:
  void tell(const LogMessage& log);
  void tell(const FailureMessage& failure);
  bool report_problem(TextSink& sink, const OutputLoss& loss, const std::string& name);
  bool is_standard_output(const TextSink& sink) const;

  const bool broken_pipe_ends_;
  const bool steps_are_output_;  // steps_ is standard output
  BoundedOutput lines_, errors_;
  LiveFile* steps_;
  std::unique_ptr<BoundedOutput> piped_steps_;  // where that is no regular file
  TrainingOutput training_;
  std::deque<std::string> kept_;
};

}  // namespace shardscope
