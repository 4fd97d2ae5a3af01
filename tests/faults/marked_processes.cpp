#include "tests/faults/marked_processes.h"

#include <fmt/format.h>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace shardscope::faults {

namespace fs = std::filesystem;

namespace {

// The texts of /proc/PID/NAME, each ended by a zero byte.
std::vector<std::string> zero_ended(int pid, const char* name) {
  std::ifstream file(fmt::format("/proc/{}/{}", pid, name), std::ios::binary);
  std::vector<std::string> texts;
  for (std::string text; std::getline(file, text, '\0');) texts.push_back(text);
  return texts;
}

std::vector<int> process_numbers() {
  std::vector<int> numbers;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    int number = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (problem == std::errc{} && end == name.data() + name.size()) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

std::optional<SeenProcess> see_process(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line) || line.rfind(')') == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  SeenProcess seen;
  seen.id.pid = pid;
  fields >> seen.state >> seen.parent;
  std::string skipped;
  for (int field = 5; field < 22; ++field) fields >> skipped;
  fields >> seen.id.start_time;
  return fields ? std::optional(seen) : std::nullopt;
}

bool lives(const ProcessId& process) {
  const auto seen = see_process(process.pid);
  return seen && seen->id == process && seen->state != 'Z' && seen->state != 'X';
}

MarkedProcesses::MarkedProcesses(const std::string& mark) : entry_(std::string(variable) + "=" + mark) {
  for (int number : process_numbers()) seen_.insert(number);
}

void MarkedProcesses::look() {
  std::set<int> now;
  for (int number : process_numbers()) {
    now.insert(number);
    if (seen_.contains(number)) continue;
    const auto info = see_process(number);
    const std::vector<std::string> environment = zero_ended(number, "environ");
    for (const std::string& entry : environment) {
      if (info && entry == entry_) found_.push_back(info->id);
    }
    if (environment.empty() && info && info->state != 'Z') now.erase(number);  // between fork and exec: look again
  }
  seen_ = std::move(now);
}

std::vector<ProcessId> MarkedProcesses::alive() {
  look();
  std::vector<ProcessId> processes;
  for (const ProcessId& process : found_) {
    if (lives(process)) processes.push_back(process);
  }
  return processes;
}

std::vector<std::string> command_line(int pid) { return zero_ended(pid, "cmdline"); }

std::string environment_variable(int pid, const std::string& name) {
  for (const std::string& entry : zero_ended(pid, "environ")) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return "";
}

std::string to_text(const ProcessId& process) {
  const std::vector<std::string> command = command_line(process.pid);
  const auto info = see_process(process.pid);
  return fmt::format("{}{} (pid {}, state {})", command.empty() ? "?" : fs::path(command[0]).filename().string(),
                     command.size() > 1 ? " " + command[1] : "", process.pid, info ? info->state : '?');
}

}  // namespace shardscope::faults
