#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

// A process, told apart from a later one with the same number by when it started (clock ticks since boot).
struct ProcessId {
  int pid = 0;
  uint64_t start_time = 0;
  bool operator==(const ProcessId&) const = default;
};

// A line of /proc/PID/stat.
struct ProcessInfo {
  ProcessId id;
  int parent = 0;
  char state = '?';  // R running, S sleeping, T stopped, t traced, Z zombie, ...
};

// Nothing when there is no such process.
std::optional<ProcessInfo> process_info(int pid);
// True where the process exists and is no zombie.
bool is_alive(const ProcessId& process);
// Children of `pid`, their children, and so on.
std::vector<ProcessId> descendants(int pid);

// Asks the kernel to kill this process when the one that started it dies.
void die_with_parent() noexcept;

// "SIGKILL" for 9; "signal 99" for a number without a name.
std::string signal_name(int signal);

}  // namespace shardscope
