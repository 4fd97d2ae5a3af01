#include "engine/cli/run_logs.h"

#include "engine/base/error.h"
#include "engine/session/hello.h"

namespace shardscope {

RunLogs::RunLogs(const LogFolders& folders, Existing existing, const std::vector<std::string>& inputs,
                 const Plan& plan) {
  if (!folders.tensorboard.empty()) tensorboard_ = std::make_unique<TensorboardLog>(folders.tensorboard);
  if (folders.record.empty()) return;
  recorder_ = std::make_unique<RunRecorder>(folders.record, existing, inputs, hello_of(plan), plan.machine);
}

void RunLogs::begin() {
  if (tensorboard_) tensorboard_->begin();
  if (recorder_) recorder_->begin();
}

void RunLogs::undo() {
  if (recorder_) recorder_->undo();
  if (tensorboard_) tensorboard_->undo();
}

void RunLogs::complete() {
  if (recorder_ && problem_.empty()) recorder_->complete();
}

bool RunLogs::take(const ReportedMessage& reported) {
  if (!problem_.empty()) return false;
  try {
    if (recorder_) recorder_->add(reported);
    if (tensorboard_) tensorboard_->add(reported);
  } catch (const Failure& failure) {
    problem_ = failure.what();
  }
  return problem_.empty();
}

}  // namespace shardscope
