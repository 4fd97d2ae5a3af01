#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/comm/peer_table.h"

namespace shardscope {

// What the ranks of one host have in common: see make_shared_memory_world in rank_world.h.
struct SharedMemory {
  std::shared_ptr<ControlRegion> region;
  std::shared_ptr<const PeerMemory> memory;  // keeps the arenas
  std::span<std::byte> arena;                // this rank's
  uint64_t group = 0;                        // of all of them, in the region
};

// Collective over `bootstrap`, the ranks of one host; `world_ranks` are their numbers in the run, in order, by which
// messages name them. Throws Failure comm_memory.
SharedMemory share_memory(Communicator& bootstrap, const std::vector<int>& world_ranks, int64_t arena_bytes);

}  // namespace shardscope
