#include "engine/session/run_recorder.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/version.h"
#include "engine/session/recorded_run.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail_to_write(const std::string& path, int error) {
  throw Failure(Error{"unwritable_record", fmt::format("cannot write: {}", std::strerror(error)), in_file(path), ""});
}

void put(const std::string& path, std::FILE* file, const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0)
    fail_to_write(path, errno);
}

OutputFile create(const std::string& path) {
  OutputFile file(std::fopen(path.c_str(), "we"));
  if (!file) fail_to_write(path, errno);
  return file;
}

void write_file(const std::string& path, const std::string& text) { put(path, create(path).get(), text); }

// Leaves an empty folder there.
void make_room(const std::string& folder, Existing existing) {
  std::error_code fault;
  if (fs::create_directories(folder, fault)) return;
  if (fault) fail_to_write(folder, fault.value());
  if (fs::is_empty(folder, fault) && !fault) return;
  const bool is_record = RecordedRun::is_at(folder);
  if (existing != Existing::overwrite || !is_record) {
    throw Failure(Error{"file_exists", is_record ? "there is a record of a run" : "the folder is not empty",
                        in_file(folder), is_record ? "another folder, or --force to lose it" : "another folder"});
  }
  for (const char* name : {"trace_latest.json", "trace_slowest.json", "trace_median.json", "messages.jsonl"})
    fs::remove(folder + "/" + name, fault);
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

RunRecorder::RunRecorder(std::string folder, Existing existing, HelloMessage hello, const DeviceProfile& profile)
    : folder_(std::move(folder)) {
  make_room(folder_, existing);
  const nlohmann::ordered_json header = {
      {"format", RecordedRun::format}, {"version", version}, {"started", seconds_since_1970()}};
  write_file(folder_ + "/record.json", header.dump() + '\n');
  write_file(folder_ + "/run_file.json", std::exchange(hello.config_json, ""));
  write_file(folder_ + "/profile.json", profile_text(profile));
  messages_ = create(folder_ + "/messages.jsonl");
  add(hello);
}

void RunRecorder::add(const Message& message) {
  if (!messages_) return;
  try {
    if (auto* trace = std::get_if<TraceMessage>(&message)) write_trace(*trace);
    else put(folder_ + "/messages.jsonl", messages_.get(), to_json_line(message));
  } catch (const Failure&) {
    messages_.reset();
    throw;
  }
}

// A reader finds the trace before or this one, whole.
void RunRecorder::write_trace(const TraceMessage& trace) {
  const std::string path = fmt::format("{}/trace_{}.json", folder_, name(trace.choice)), part = path + ".part";
  write_file(part, to_json_line(trace));
  if (std::rename(part.c_str(), path.c_str()) != 0) fail_to_write(path, errno);
}

}  // namespace shardscope
