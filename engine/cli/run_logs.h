#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/export/tensorboard.h"
#include "engine/plan/plan.h"
#include "engine/session/run_recorder.h"

namespace shardscope {

// What a training leaves besides its lines: a record of the run (--record), and event files of TensorBoard
// (--tensorboard). An empty folder: not that.
struct LogFolders {
  std::string record, tensorboard;
};

class RunLogs {
 public:
  // The record in its stages, as RunRecorder, none of whose files is among `inputs`; the event file is made, new, and
  // goes without begin(). Throws Failure where nothing could be written.
  RunLogs(const LogFolders& folders, Existing existing, const std::vector<std::string>& inputs, const Plan& plan);
  void begin();
  void undo();  // what begin() has done
  void complete();
  // The folder in which the record of before is, until complete(); empty: there was none.
  std::string kept() const { return recorder_ ? recorder_->kept() : ""; }

  // What clients are sent. False once something could not be written; problem() says what.
  bool take(const ReportedMessage& reported);
  const std::string& problem() const { return problem_; }

 private:
  std::unique_ptr<RunRecorder> recorder_;
  std::unique_ptr<TensorboardLog> tensorboard_;
  std::string problem_;
};

}  // namespace shardscope
