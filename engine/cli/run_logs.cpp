#include "engine/cli/run_logs.h"

#include "engine/base/error.h"
#include "engine/session/hello.h"

namespace shardscope {

RunLogs::RunLogs(const LogFolders& folders, Existing existing, const Plan& plan) {
  if (!folders.record.empty())
    recorder_ = std::make_unique<RunRecorder>(folders.record, existing, hello_of(plan), plan.profile);
  if (!folders.tensorboard.empty()) tensorboard_ = std::make_unique<TensorboardLog>(folders.tensorboard);
}

bool RunLogs::take(const ToldMessage& told) {
  try {
    if (recorder_) recorder_->add(told);
    if (tensorboard_) tensorboard_->add(told);
  } catch (const Failure& failure) {
    problem_ = failure.what();
    recorder_.reset();
    tensorboard_.reset();
  }
  return problem_.empty();
}

}  // namespace shardscope
