#include "engine/cli/train_outputs.h"

#include "engine/base/error.h"
#include "engine/base/standard_streams.h"
#include "engine/session/record_files.h"

namespace shardscope {

namespace {

std::vector<std::string> files_of(const TrainOutputPaths& paths) {
  std::vector<std::string> files = paths.trained.files();
  if (!paths.jsonl.empty()) files.push_back(paths.jsonl);
  if (paths.logs.record.empty()) return files;
  for (const std::string& path : RecordFiles{paths.logs.record}.all())
    files.insert(files.end(), {path, WholeFile::part_of(path)});
  return files;
}

}  // namespace

TrainOutputs::TrainOutputs(const Plan& plan, const TrainOutputPaths& paths, std::vector<std::string> inputs) {
  require_different(files_of(paths));
  const Existing existing = paths.force ? Existing::overwrite : Existing::refuse;
  logs_ = std::make_unique<RunLogs>(paths.logs, existing, inputs, plan);
  if (!paths.jsonl.empty())
    steps_ = std::make_unique<LiveFile>(paths.jsonl, paths.append ? Existing::append : existing, inputs);
  trained_ = std::make_unique<TrainedOutput>(plan, paths.trained, existing, std::move(inputs));
}

void TrainOutputs::begin() {
  try {
    logs_->begin();
    if (steps_) steps_->begin();
  } catch (const Failure&) {
    if (steps_) steps_->undo();
    logs_->undo();
    for (const std::string& line : kept()) say(line);
    throw;
  }
  if (steps_ && steps_->has_ended_cut_line())
    note(fmt::format("note: the last line of '{}' was cut off, and has been ended", steps_->path()));
}

std::vector<std::string> TrainOutputs::end(bool well) {
  if (well) {
    logs_->complete();
    if (steps_ && steps_->bytes() > 0) steps_->complete();
  }
  return kept();
}

std::vector<std::string> TrainOutputs::kept() const {
  std::vector<std::string> kept;
  for (const std::string& path : {steps_ ? steps_->kept() : std::string(), logs_->kept()}) {
    if (!path.empty()) kept.push_back(fmt::format("note: what was there before is kept as '{}'", path));
  }
  return kept;
}

}  // namespace shardscope
