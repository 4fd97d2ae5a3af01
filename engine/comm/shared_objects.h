#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/comm/mapping.h"

namespace shardscope {

struct SharedObjectRequest {
  std::string purpose;     // of messages: "arena"
  int64_t bytes = 0;       // address space; 0: this rank brings none
  int64_t used_bytes = 0;  // of which memory is reserved now
  bool peers_write = false;
};

// Every rank brings one shared-memory object and maps those of all, in the order of ranks. Collective over `bootstrap`.
// The objects are memfds: they need no room in /dev/shm, have no name that a killed rank could leave behind, and go
// with the last process that has mapped them; ranks open each other's as /proc/PID/fd/N, which a user may do among
// processes of his own. Throws Failure comm_memory on every rank when one could not do its part, or when what all need
// is more than the memory (less where a control group limits it) and swap space of this host.
std::vector<Mapping> share_objects(Communicator& bootstrap, const SharedObjectRequest& request);

}  // namespace shardscope
