#include "engine/session/run_recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/path.h"
#include "engine/base/version.h"
#include "engine/base/wall_time.h"
#include "engine/machine/machine_file.h"
#include "engine/session/recorded_run.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse_record(const std::string& folder, const char* what, const char* hint) {
  throw Failure(Error{"file_exists", what, in_file(folder), hint});
}

// The folder, where a record may be made in it.
std::string checked(const std::string& folder, Existing existing, const std::vector<std::string>& inputs) {
  std::error_code fault;
  if (!fs::exists(folder, fault)) return folder;
  if (!fs::is_directory(folder, fault)) fail_to_write(folder, ENOTDIR);
  if (fs::is_empty(folder, fault) && !fault) return folder;
  const bool is_record = RecordedRun::is_at(folder);
  if (!is_record) refuse_record(folder, "the folder is not empty", "another folder");
  if (existing != Existing::overwrite)
    refuse_record(folder, "there is a record of a run", "another folder, or --force to lose it");
  if (fs::is_symlink(without_slashes(folder), fault))
    refuse_record(folder, "this is a symbolic link to a record; it is not followed", "the name of the folder itself");
  for (const std::string& path : RecordFiles{folder}.all()) check_output(path, existing, inputs);
  return folder;
}

constexpr const char* unwritable_file = "unwritable_file";

std::string name_of(const std::string& path) { return fs::path(path).filename().string(); }

bool is_regular(const HeldFolder& folder, const std::string& name) {
  const std::optional<struct stat> status = folder.status(name);
  return status && S_ISREG(status->st_mode);
}

int rename_new(const HeldFolder& from, const HeldFolder& to, const std::string& name) {
  const int flags = RENAME_NOREPLACE;
  if (::renameat2(from.descriptor(), name.c_str(), to.descriptor(), name.c_str(), flags) == 0) return 0;
  if (errno != EINVAL || to.status(name)) return errno;  // a file system without such a call
  return ::renameat(from.descriptor(), name.c_str(), to.descriptor(), name.c_str()) == 0 ? 0 : errno;
}

// A new folder of the first of these names that nothing has.
HeldFolder make_folder(const HeldFolder& in, const std::string& name) {
  std::string made = name;
  for (int number = 2; ::mkdirat(in.descriptor(), made.c_str(), 0777) != 0; ++number) {
    if (errno != EEXIST) fail_to_write(in.path_of(name), errno);
    made = fmt::format("{}.{}", name, number);
  }
  return in.folder(made);
}

void put(LiveFile& file, std::string_view text) {
  if (const int error = file.put(text); error != 0) fail_to_write(file.path(), error);
}

}  // namespace

RunRecorder::RunRecorder(const std::string& folder, Existing existing, const std::vector<std::string>& inputs,
                         HelloMessage hello, const Machine& machine)
    : files_{checked(folder, existing, inputs)},
      folders_(folder),
      held_(folder, unwritable_file),
      messages_(files_.messages(), existing, inputs, &held_),
      run_file_(files_.run_file(), existing, inputs, &held_),
      machine_(files_.machine(), existing, inputs, &held_),
      header_(files_.header(), existing, inputs, &held_) {
  const nlohmann::ordered_json header = {
      {"format", RecordedRun::format}, {"version", version}, {"started", seconds_since_1970()}};
  put(header_, header.dump() + '\n');
  put(run_file_, std::exchange(hello.config_json, ""));
  put(machine_, machine_text(machine));
  hello.machine_json.clear();
  put(messages_, to_json_line(hello));
}

RunRecorder::~RunRecorder() {
  try {
    if (is_open_) write_traces();
  } catch (const Failure&) {  // the record has no such trace, or an older one
  }
}

void RunRecorder::begin() {
  const auto files = {&messages_, &run_file_, &machine_, &header_};
  const bool is_any_replaced =
      std::ranges::any_of(files, &LiveFile::replaces) || std::ranges::any_of(trace_choices, [this](TraceChoice choice) {
        return is_regular(held_, name_of(files_.trace(choice)));
      });
  try {
    if (is_any_replaced) {
      old_.emplace(make_folder(held_, "old"));
      kept_ = old_->path();
    }
    for (LiveFile* file : files) file->begin(old_ ? old_->system_path_of(name_of(file->path())) : "");
    keep_traces();
  } catch (const Failure&) {
    undo();
    throw;
  }
  folders_.keep();
  is_open_ = true;
}

void RunRecorder::keep_traces() {
  for (TraceChoice choice : trace_choices) {
    const std::string path = files_.trace(choice), name = name_of(path);
    if (!old_ || !is_regular(held_, name)) continue;
    if (const int error = rename_new(held_, *old_, name); error != 0) fail_to_write(path, error);
  }
}

void RunRecorder::undo() {
  is_open_ = false;
  for (TraceChoice choice : trace_choices) {
    if (old_) rename_new(*old_, held_, name_of(files_.trace(choice)));
  }
  for (LiveFile* file : {&header_, &machine_, &run_file_, &messages_}) file->undo();
  folders_.keep(false);
  remove_old();
}

void RunRecorder::complete() {
  if (!old_ || !has_step_) return;
  if (!is_old_in_place()) {
    kept_ = old_->present_path().value_or(kept_);
    return;
  }
  for (LiveFile* file : {&messages_, &run_file_, &machine_, &header_}) file->complete();
  for (TraceChoice choice : trace_choices) ::unlinkat(old_->descriptor(), name_of(files_.trace(choice)).c_str(), 0);
  remove_old();
}

// No link leads to it, either.
bool RunRecorder::is_old_in_place() const {
  const std::optional<struct stat> there = old_ ? held_.status(name_of(old_->path())) : std::nullopt;
  return there && FolderIdentity{there->st_dev, there->st_ino} == old_->identity();
}

// Where it is empty.
void RunRecorder::remove_old() {
  if (is_old_in_place() && ::unlinkat(held_.descriptor(), name_of(old_->path()).c_str(), AT_REMOVEDIR) == 0)
    kept_.clear();
}

void RunRecorder::add(const ReportedMessage& reported) {
  if (!is_open_) return;
  const Message& message = reported;
  try {
    const bool is_end = std::holds_alternative<FinishedMessage>(message);
    const bool is_turn = is_end || std::holds_alternative<RestartMessage>(message);
    has_step_ = has_step_ || std::holds_alternative<StepMessage>(message);
    if (auto* trace = std::get_if<TraceMessage>(&message)) traces_[static_cast<size_t>(trace->choice)] = *trace;
    if (is_turn || std::chrono::steady_clock::now() - traced_ >= traces_every) write_traces();
    if (!std::holds_alternative<TraceMessage>(message)) put(messages_, reported.line());
    if (const std::optional<Error> loss = is_end ? messages_.loss() : std::nullopt) throw Failure(*loss);
    if (const auto displaced = is_end ? held_.displaced() : std::nullopt)
      throw Failure(Error{unwritable_file, displaced->what, in_file(held_.path()), "name the record where it is now"});
  } catch (const Failure&) {
    is_open_ = false;
    throw;
  }
}

void RunRecorder::write_traces() {
  for (std::optional<TraceMessage>& trace : traces_) {
    if (!trace) continue;
    write_trace(*trace);
    trace.reset();
    traced_ = std::chrono::steady_clock::now();
  }
}

// A reader finds the trace before or this one, whole.
void RunRecorder::write_trace(const TraceMessage& trace) {
  const std::string path = files_.trace(trace.choice), name = name_of(path);
  const std::string part = held_.system_path_of(WholeFile::part_of(name));
  const std::string free = free_name(part);
  const int descriptor = ::open(free.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0) fail_to_write(path, errno);
  const OutputFile file(::fdopen(descriptor, "we"));
  const std::string line = to_json_line(trace);
  const bool is_written = std::fwrite(line.data(), 1, line.size(), file.get()) == line.size() &&
                          std::fflush(file.get()) == 0 &&
                          std::rename(free.c_str(), held_.system_path_of(name).c_str()) == 0;
  if (is_written) return;
  const int error = errno;
  remove_if_same(file.get(), free);
  fail_to_write(path, error);
}

}  // namespace shardscope
