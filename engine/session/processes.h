#pragma once

#include <string>
#include <vector>

#include "engine/base/process.h"

namespace shardscope {

// As far as /proc can be read.
std::vector<ProcessInfo> all_processes();
// Children of `pid`, their children, and so on.
std::vector<ProcessId> descendants(int pid);

// Asks the kernel to kill this process when the one that started it dies.
void die_with_parent() noexcept;

// "SIGKILL" for 9; "signal 99" for a number without a name.
std::string signal_name(int signal);

}  // namespace shardscope
