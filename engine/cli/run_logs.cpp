#include "engine/cli/run_logs.h"

#include "engine/base/error.h"
#include "engine/config/write.h"

namespace shardscope {

namespace {

HelloMessage hello_of(const Plan& plan) {
  return {write_run_config(plan.config), plan.hash, plan.mesh.device_count(), plan_step_names(plan),
          metric_names(plan.metrics)};
}

}  // namespace

RunLogs::RunLogs(const LogFolders& folders, Existing existing, const Plan& plan) {
  if (!folders.record.empty())
    recorder_ = std::make_unique<RunRecorder>(folders.record, existing, hello_of(plan), plan.profile);
  if (!folders.tensorboard.empty()) tensorboard_ = std::make_unique<TensorboardLog>(folders.tensorboard);
}

bool RunLogs::take(const Message& message) {
  try {
    if (recorder_) recorder_->add(message);
    if (tensorboard_) tensorboard_->add(message);
  } catch (const Failure& failure) {
    problem_ = failure.what();
    recorder_.reset();
    tensorboard_.reset();
  }
  return problem_.empty();
}

}  // namespace shardscope
