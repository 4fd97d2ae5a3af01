#include "engine/base/process.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/kernel_file.h"

namespace shardscope {

namespace {

constexpr int state_field = 3, parent_field = 4, start_time_field = 22, exit_status_field = 52;

std::string read_stat(int32_t pid) { return read_kernel_file("/proc/" + std::to_string(pid) + "/stat"); }

template <class Integer>
bool read_number(std::string_view text, Integer& value) {
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{};
}

// The name (field 2), in parentheses, may hold anything.
std::optional<ProcessInfo> parse_stat(int32_t pid, std::string_view line) {
  const size_t name_end = line.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  line.remove_prefix(name_end + 1);
  ProcessInfo info;
  info.id.pid = pid;
  for (int field = state_field; field <= exit_status_field; ++field) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const std::string_view text = line.substr(0, line.find(' '));
    if (text.empty()) return std::nullopt;
    if (field == state_field) info.state = text[0];
    if (field == parent_field && !read_number(text, info.parent)) return std::nullopt;
    if (field == exit_status_field && !read_number(text, info.exit_status)) return std::nullopt;
    if (field == start_time_field && !read_number(text, info.id.start_time)) return std::nullopt;
    line.remove_prefix(text.size());
  }
  return info;
}

}  // namespace

ProcessObservation look_at_process(int32_t pid) {
  using Presence = ProcessObservation::Presence;
  if (pid <= 0) return {};
  if (const auto info = parse_stat(pid, read_stat(pid))) return {Presence::there, *info};
  const bool gone = ::kill(pid, 0) != 0 && errno == ESRCH;
  return {gone ? Presence::gone : Presence::unknown, {}};
}

ProcessId this_process() {
  const int32_t pid = ::getpid();
  const ProcessObservation observation = look_at_process(pid);
  return observation.presence == ProcessObservation::Presence::there ? observation.info.id : ProcessId{pid, 0};
}

bool is_alive(const ProcessId& process) {
  const ProcessObservation observation = look_at_process(process.pid);
  if (observation.presence == ProcessObservation::Presence::gone) return false;
  if (observation.presence == ProcessObservation::Presence::unknown) return true;
  if (observation.info.state == 'Z' || observation.info.state == 'X') return false;
  return process.start_time == 0 || observation.info.id.start_time == process.start_time;
}

}  // namespace shardscope
