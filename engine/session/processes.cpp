#include "engine/session/processes.h"

#include <sys/prctl.h>

#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>

namespace shardscope {

std::vector<ProcessInfo> all_processes() {
  std::vector<ProcessInfo> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::string name = entry.path().filename();
    int number = 0;
    auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (problem != std::errc{} || end != name.data() + name.size()) continue;
    const ProcessObservation observation = look_at_process(number);
    if (observation.presence == ProcessObservation::Presence::there) all.push_back(observation.info);
  }
  return all;
}

std::vector<ProcessId> descendants(int pid) {
  const std::vector<ProcessInfo> all = all_processes();
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
