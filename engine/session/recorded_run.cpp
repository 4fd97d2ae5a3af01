#include "engine/session/recorded_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/input_file.h"
#include "engine/base/version.h"
#include "engine/machine/former_profile.h"
#include "engine/machine/machine_file.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

[[noreturn]] void fail_record(const char* code, const std::string& file, int line, const std::string& what,
                              const std::string& hint = "") {
  throw Failure(Error{code, what, in_file(file, line), hint});
}

std::string file_text(const std::string& path) {
  const InputFile file(path, "unreadable_record");
  if (file.bytes() > static_cast<int64_t>(message_limits::line_bytes))
    fail_record("bad_record", path, 0, fmt::format("it has more than {} MiB", message_limits::line_bytes >> 20));
  return file.text(std::numeric_limits<int64_t>::max());
}

// The next line of a file of messages; a last one without its end is none.
class RecordLines {
 public:
  explicit RecordLines(const std::string& path) : file_(path, "unreadable_record") {}

  int number() const { return number_; }  // of the line that was given last
  std::optional<std::string> next() {
    while (true) {
      if (std::optional<std::string> line = lines_.next_line()) {
        ++number_;
        return line;
      }
      std::array<char, 65536> bytes;
      const ssize_t count = ::pread(file_.descriptor(), bytes.data(), bytes.size(), offset_);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0)
        fail_record("unreadable_record", file_.path(), 0, fmt::format("cannot read: {}", std::strerror(errno)));
      if (count == 0) return std::nullopt;
      offset_ += count;
      feed({bytes.data(), static_cast<size_t>(count)});
    }
  }

 private:
  void feed(std::string_view bytes) {
    try {
      lines_.feed(bytes);
    } catch (const Failure& failure) {
      fail_record("bad_record", file_.path(), number_ + 1, failure.errors().front().message);
    }
  }

  InputFile file_;
  int64_t offset_ = 0;
  LineBuffer lines_{message_limits::line_bytes};
  int number_ = 0;
};

Message message_of(const std::string& line, const std::string& path, int number) {
  try {
    return parse_message(line);
  } catch (const Failure& failure) {
    fail_record("bad_record", path, number, failure.errors().front().message);
  }
}

// What begins a record, of whatever version.
double read_header(const std::string& path) {
  const Json header = Json::parse(file_text(path), nullptr, false);
  const auto is_number = [&](const char* key) { return header.contains(key) && header[key].is_number(); };
  if (!header.is_object() || !is_number("format") || !header.contains("version") || !header["version"].is_string())
    fail_record("bad_record", path, 0, "this is no record of a run");
  const std::string written_by = header["version"].get<std::string>();
  if (header["format"] != RecordedRun::format || written_by != version) {
    fail_record("record_version", path, 0,
                fmt::format("shardscope {} wrote this record in format {}; this is {}, which reads format {}",
                            written_by, header["format"].dump(), version, RecordedRun::format),
                fmt::format("read it with shardscope {}", written_by));
  }
  if (!is_number("started")) fail_record("bad_record", path, 0, "it does not say when the run was started");
  return header["started"].get<double>();
}

Machine read_machine(const RecordFiles& files) {
  std::error_code fault;
  if (!fs::exists(files.machine(), fault) && fs::exists(files.former_profile(), fault))
    return machine_of_profile(file_text(files.former_profile()), files.former_profile());
  return parse_machine(file_text(files.machine()), files.machine());
}

}  // namespace

bool RecordedRun::is_at(const std::string& folder) {
  std::error_code fault;
  return fs::is_regular_file(RecordFiles{folder}.header(), fault);
}

RecordedRun::RecordedRun(const std::string& folder) : files_{folder} {
  started_ = read_header(files_.header());
  const std::string messages = files_.messages();
  const std::optional<std::string> line = RecordLines(messages).next();
  if (!line) fail_record("bad_record", messages, 1, "it does not begin with Hello");
  const Message first = message_of(*line, messages, 1);
  if (!std::holds_alternative<HelloMessage>(first))
    fail_record("bad_record", messages, 1, "it does not begin with Hello");
  hello_ = std::get<HelloMessage>(first);
  hello_.config_json = file_text(files_.run_file());
  machine_ = read_machine(files_);
  for (TraceChoice choice : trace_choices) {
    const std::string path = files_.trace(choice);
    std::error_code fault;
    if (!fs::exists(path, fault)) continue;
    const Message message = message_of(file_text(path), path, 1);
    const auto* trace = std::get_if<TraceMessage>(&message);
    bool fits = trace && trace->choice == choice && std::ssize(trace->ranks) == hello_.ranks;
    for (int rank = 0; fits && rank < hello_.ranks; ++rank)
      fits = trace->ranks[static_cast<size_t>(rank)].size() == hello_.plan_steps.of(rank).size();
    if (!fits) fail_record("bad_record", path, 1, "this is no trace of the run's plan");
    traces_.push_back(*trace);
  }
}

void RecordedRun::replay(const std::function<void(const Message&)>& take) const {
  const std::string path = files_.messages();
  RecordLines lines(path);
  lines.next();
  take(hello_);
  bool traced = false;
  const auto take_traces = [&] {
    if (!std::exchange(traced, true)) {
      for (const TraceMessage& trace : traces_) take(trace);
    }
  };
  while (const std::optional<std::string> line = lines.next()) {
    const Message message = message_of(*line, path, lines.number());
    if (std::holds_alternative<FinishedMessage>(message)) take_traces();
    take(message);
  }
  take_traces();
}

void remove_record(const std::string& folder) {
  std::error_code fault;
  if (!fs::is_directory(fs::symlink_status(folder, fault))) return;
  for (const std::string& path : RecordFiles{folder}.all()) {
    for (const std::string& name : {path, path + ".part"}) {
      if (fs::is_regular_file(fs::symlink_status(name, fault))) fs::remove(name, fault);
    }
  }
  ::rmdir(folder.c_str());
}

}  // namespace shardscope
