#pragma once

#include <cstdint>

namespace shardscope {

// A process of this host; the start time tells it from a later one with the same number. `pid` 0: unknown.
struct ProcessIdentity {
  int32_t pid = 0;
  uint64_t start_time = 0;  // clock ticks since boot
};

ProcessIdentity this_process();

// False when it has ended: it is gone, a zombie, or its number belongs to another process. True when not known.
bool is_alive(const ProcessIdentity& process);

}  // namespace shardscope
