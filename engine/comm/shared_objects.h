#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/comm/mapping.h"

namespace shardscope {

struct SharedObjectRequest {
  std::string purpose;     // part of the name, and of messages: "arena"
  int64_t bytes = 0;       // address space; 0: this rank brings none
  int64_t used_bytes = 0;  // of which memory will be needed at most
  bool peers_write = false;
};

// Every rank brings one shared-memory object and maps those of all, in the order of ranks. Collective over `bootstrap`.
// The names are unlinked before this returns or throws. Throws Failure comm_memory on every rank when one could not do
// its part, or when what all need is more than /dev/shm has.
std::vector<Mapping> share_objects(Communicator& bootstrap, const SharedObjectRequest& request);

}  // namespace shardscope
