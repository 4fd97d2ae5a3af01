#include "engine/session/processes.h"

#include <sys/prctl.h>

#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace shardscope {

std::optional<ProcessInfo> process_info(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  ProcessInfo info;
  info.id.pid = pid;
  fields >> info.state >> info.parent;
  std::string skipped;
  for (int field = 5; field < 22; ++field) fields >> skipped;
  fields >> info.id.start_time;
  if (!fields) return std::nullopt;
  return info;
}

bool is_alive(const ProcessId& process) {
  auto info = process_info(process.pid);
  return info && info->id == process && info->state != 'Z' && info->state != 'X';
}

std::vector<ProcessId> descendants(int pid) {
  std::vector<ProcessInfo> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::string name = entry.path().filename();
    int number = 0;
    auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (problem != std::errc{} || end != name.data() + name.size()) continue;
    if (auto info = process_info(number)) all.push_back(*info);
  }
  std::vector<ProcessId> found;
  std::vector<int> parents{pid};
  while (!parents.empty()) {
    int parent = parents.back();
    parents.pop_back();
    for (const ProcessInfo& info : all) {
      if (info.parent != parent) continue;
      found.push_back(info.id);
      parents.push_back(info.id.pid);
    }
  }
  return found;
}

void die_with_parent() noexcept { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace shardscope
