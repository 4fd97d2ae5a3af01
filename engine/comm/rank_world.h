#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/comm/communicator.h"

namespace shardscope {

// What a rank needs to run a program: its arena (zero until touched, page-aligned), whose arrays the collectives may
// read, and the communicator of all ranks. The communicator and its children must not outlive the arena.
struct RankWorld {
  std::shared_ptr<const void> memory;  // keeps the arena
  std::span<std::byte> arena;
  std::unique_ptr<Communicator> communicator;
};

// One rank alone.
RankWorld make_self_world(int64_t arena_bytes);

// Ranks that are processes of one host. Collective over `bootstrap` (used here only; it must take short messages);
// ranks may ask for arenas of different sizes. Arenas and control block are shared-memory objects without a name, so
// nothing is left behind when a rank is killed; a rank that ends is noticed and named.
//
// Sources of collectives (and destinations of all-reduces) of more than about 8 KiB must lie in the arena. Throws
// Failure comm_memory, on every rank, when the arenas are more than the host's memory and swap space.
RankWorld make_shared_memory_world(Communicator& bootstrap, int64_t arena_bytes);

}  // namespace shardscope
