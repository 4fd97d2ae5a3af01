#include "engine/session/run_recorder.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/version.h"
#include "engine/base/wall_time.h"
#include "engine/session/recorded_run.h"

namespace shardscope {

namespace fs = std::filesystem;

void RunRecorder::check(const std::string& folder, Existing existing, const std::vector<std::string>& inputs) {
  std::error_code fault;
  if (!fs::exists(folder, fault)) return;
  if (!fs::is_directory(folder, fault)) fail_to_write(folder, ENOTDIR);
  if (fs::is_empty(folder, fault) && !fault) return;
  const bool is_record = RecordedRun::is_at(folder);
  if (existing != Existing::overwrite || !is_record) {
    throw Failure(Error{"file_exists", is_record ? "there is a record of a run" : "the folder is not empty",
                        in_file(folder), is_record ? "another folder, or --force to lose it" : "another folder"});
  }
  for (const std::string& path : RecordFiles{folder}.all()) check_output(path, existing, inputs);
}

RunRecorder::RunRecorder(const std::string& folder, Existing existing, HelloMessage hello, const DeviceProfile& profile)
    : files_{folder} {
  check(folder, existing, {});
  std::error_code fault;
  fs::create_directories(folder, fault);
  if (fault) fail_to_write(folder, fault.value());
  for (TraceChoice choice : RecordFiles::choices) fs::remove(files_.trace(choice), fault);
  const nlohmann::ordered_json header = {
      {"format", RecordedRun::format}, {"version", version}, {"started", seconds_since_1970()}};
  write_file(files_.header(), header.dump() + '\n');
  write_file(files_.run_file(), std::exchange(hello.config_json, ""));
  write_file(files_.profile(), profile_text(profile));
  hello.profile_json.clear();
  messages_ = open_output(files_.messages(), Existing::overwrite, {});
  add(hello);
}

RunRecorder::~RunRecorder() {
  try {
    if (messages_) write_traces();
  } catch (const Failure&) {  // the record has no such trace, or an older one
  }
}

void RunRecorder::add(const ToldMessage& told) {
  if (!messages_) return;
  const Message& message = told;
  try {
    const bool is_turn =
        std::holds_alternative<FinishedMessage>(message) || std::holds_alternative<RestartMessage>(message);
    if (auto* trace = std::get_if<TraceMessage>(&message)) traces_[static_cast<size_t>(trace->choice)] = *trace;
    if (is_turn || std::chrono::steady_clock::now() - traced_ >= traces_every) write_traces();
    if (!std::holds_alternative<TraceMessage>(message)) write(told);
  } catch (const Failure&) {
    messages_.reset();
    throw;
  }
}

void RunRecorder::write(const ToldMessage& told) {
  put(messages_.get(), told.line(), files_.messages());
  if (std::fflush(messages_.get()) != 0) fail_to_write(files_.messages(), errno);
}

// A reader finds the trace before or this one, whole.
void RunRecorder::write_traces() {
  for (std::optional<TraceMessage>& trace : traces_) {
    if (!trace) continue;
    const std::string path = files_.trace(trace->choice), part = path + ".part";
    write_file(part, to_json_line(*trace));
    if (std::rename(part.c_str(), path.c_str()) != 0) fail_to_write(path, errno);
    trace.reset();
    traced_ = std::chrono::steady_clock::now();
  }
}

}  // namespace shardscope
