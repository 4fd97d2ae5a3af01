#include "engine/session/run_recorder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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

namespace {

[[noreturn]] void refuse(const std::string& folder, const char* what, const char* hint) {
  throw Failure(Error{"file_exists", what, in_file(folder), hint});
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// The folder, where a record may be made in it.
std::string checked(const std::string& folder, Existing existing, const std::vector<std::string>& inputs) {
  std::error_code fault;
  if (!fs::exists(folder, fault)) return folder;
  if (!fs::is_directory(folder, fault)) fail_to_write(folder, ENOTDIR);
  if (fs::is_empty(folder, fault) && !fault) return folder;
  const bool is_record = RecordedRun::is_at(folder);
  if (!is_record) refuse(folder, "the folder is not empty", "another folder");
  if (existing != Existing::overwrite)
    refuse(folder, "there is a record of a run", "another folder, or --force to lose it");
  if (fs::is_symlink(without_slashes(folder), fault))
    refuse(folder, "this is a symbolic link to a record; it is not followed", "the name of the folder itself");
  for (const std::string& path : RecordFiles{folder}.all()) check_output(path, existing, inputs);
  return folder;
}

bool is_regular(const std::string& path) {
  struct stat there {};
  return ::lstat(path.c_str(), &there) == 0 && S_ISREG(there.st_mode);
}

std::string in_folder(const std::string& folder, const std::string& path) {
  return (fs::path(folder) / fs::path(path).filename()).string();
}

void put(LiveFile& file, std::string_view text) {
  if (const int error = file.put(text); error != 0) fail_to_write(file.path(), error);
}

}  // namespace

RunRecorder::NewFolders::NewFolders(const std::string& path) {
  std::error_code fault;
  std::vector<fs::path> missing;
  for (fs::path at = without_slashes(path); !at.empty() && !fs::exists(at, fault); at = at.parent_path())
    missing.push_back(at);
  for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
    if (fs::create_directory(*at, fault)) made_.push_back(at->string());
    if (!fault) continue;
    remove();
    fail_to_write(path, fault.value());
  }
}

void RunRecorder::NewFolders::remove() {
  for (; !made_.empty(); made_.pop_back()) ::rmdir(made_.back().c_str());
}

RunRecorder::RunRecorder(const std::string& folder, Existing existing, const std::vector<std::string>& inputs,
                         HelloMessage hello, const DeviceProfile& profile)
    : files_{checked(folder, existing, inputs)},
      folders_(folder),
      messages_(files_.messages(), existing, inputs),
      run_file_(files_.run_file(), existing, inputs),
      profile_(files_.profile(), existing, inputs),
      header_(files_.header(), existing, inputs) {
  const nlohmann::ordered_json header = {
      {"format", RecordedRun::format}, {"version", version}, {"started", seconds_since_1970()}};
  put(header_, header.dump() + '\n');
  put(run_file_, std::exchange(hello.config_json, ""));
  put(profile_, profile_text(profile));
  hello.profile_json.clear();
  put(messages_, to_json_line(hello));
}

RunRecorder::~RunRecorder() {
  try {
    if (is_open_) write_traces();
  } catch (const Failure&) {  // the record has no such trace, or an older one
  }
}

void RunRecorder::begin() {
  const auto files = {&messages_, &run_file_, &profile_, &header_};
  const bool is_any_replaced = std::ranges::any_of(files, &LiveFile::replaces) ||
                               std::ranges::any_of(RecordFiles::choices, [this](TraceChoice choice) {
                                 return is_regular(files_.trace(choice));
                               });
  const std::string kept = free_name(files_.folder + "/old");
  if (is_any_replaced && ::mkdir(kept.c_str(), 0777) != 0) fail_to_write(kept, errno);
  if (is_any_replaced) kept_ = kept;
  for (LiveFile* file : files) file->begin(in_folder(kept, file->path()));
  for (TraceChoice choice : RecordFiles::choices) {
    const std::string path = files_.trace(choice);
    if (is_regular(path) && std::rename(path.c_str(), in_folder(kept, path).c_str()) != 0) fail_to_write(path, errno);
  }
  folders_.keep();
  is_open_ = true;
}

void RunRecorder::complete() {
  if (kept_.empty()) return;
  for (LiveFile* file : {&messages_, &run_file_, &profile_, &header_}) file->complete();
  for (TraceChoice choice : RecordFiles::choices) ::unlink(in_folder(kept_, files_.trace(choice)).c_str());
  if (::rmdir(kept_.c_str()) == 0) kept_.clear();
}

void RunRecorder::add(const ToldMessage& told) {
  if (!is_open_) return;
  const Message& message = told;
  try {
    const bool is_end = std::holds_alternative<FinishedMessage>(message);
    const bool is_turn = is_end || std::holds_alternative<RestartMessage>(message);
    if (auto* trace = std::get_if<TraceMessage>(&message)) traces_[static_cast<size_t>(trace->choice)] = *trace;
    if (is_turn || std::chrono::steady_clock::now() - traced_ >= traces_every) write_traces();
    if (!std::holds_alternative<TraceMessage>(message)) put(messages_, told.line());
    if (const std::optional<Error> loss = is_end ? messages_.loss() : std::nullopt) throw Failure(*loss);
  } catch (const Failure&) {
    is_open_ = false;
    throw;
  }
}

// A reader finds the trace before or this one, whole.
void RunRecorder::write_traces() {
  for (std::optional<TraceMessage>& trace : traces_) {
    if (!trace) continue;
    const std::string path = files_.trace(trace->choice), part = path + ".part";
    ::unlink(part.c_str());
    write_new_file(part, to_json_line(*trace));
    if (std::rename(part.c_str(), path.c_str()) != 0) fail_to_write(path, errno);
    trace.reset();
    traced_ = std::chrono::steady_clock::now();
  }
}

}  // namespace shardscope
