#pragma once

#include <cstdint>

namespace shardscope {

// A process of this host, distinguished from a later one with the same number by when it started (clock ticks since
// boot; 0: not known).
struct ProcessId {
  int32_t pid = 0;
  uint64_t start_time = 0;
  bool operator==(const ProcessId&) const = default;
};

// A line of /proc/PID/stat.
struct ProcessInfo {
  ProcessId id;
  int32_t parent = 0;
  char state = '?';         // R running, S sleeping, D in the kernel, T stopped, t traced, Z zombie, X dead
  int32_t exit_status = 0;  // of a zombie, as waitpid gives it; 0 also where this process may not see it
};

// What is seen of a process number. That /proc cannot be read (too many open files, no rights) says nothing of the
// process: it is then unknown, never gone.
struct ProcessObservation {
  enum class Presence : uint8_t { unknown, gone, there };
  Presence presence = Presence::unknown;
  ProcessInfo info;  // where it is there
};
ProcessObservation look_at_process(int32_t pid);

ProcessId this_process();

// False when it has ended: it is gone, a zombie, or its number belongs to another process. True when not known.
bool is_alive(const ProcessId& process);

}  // namespace shardscope
