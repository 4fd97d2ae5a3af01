#pragma once

#include <cstdint>
#include <string>

#include "engine/base/process.h"

namespace shardscope {

struct HostAgentOptions {
  std::string address;  // of the launcher, a number
  int port = 0;
  uint32_t host = 0;   // its number in the run
  std::string secret;  // of this host
  int64_t connect_ns = 20'000'000'000;
};

// What the launcher of a run has on each of its hosts: holds the session directory, starts there what Open MPI asks for
// (its daemon, which starts the ranks), reads their telemetry and reports it, does what the launcher says, and in the
// end leaves nothing. It ends all and itself, too, when the launcher has gone, or cannot be reached for the time that
// it has set: so a host whose link goes down has ended its ranks when it comes back. Returns the exit code.
int run_host_agent(const HostAgentOptions& options);

// Ends an agent of this host that does not answer (it is stopped) with all that it has started, and removes what it
// leaves. Returns the exit code.
int end_host_agent(const ProcessId& agent);

}  // namespace shardscope
