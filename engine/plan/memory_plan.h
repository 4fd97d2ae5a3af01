#pragma once

#include <array>

#include "engine/program/arena_layout.h"
#include "engine/program/program.h"

namespace shardscope {

// Gives every program value a buffer and every buffer its place in the arena. Lifetimes are positions of the program's
// main sequence; the other sequences run parts of it, in which nothing lives longer. A result takes over the buffer of
// an operand that is used for the last time where the op allows it (always for parameter updates); all-reduces work in
// place likewise. Workspaces are buffers of their one instruction. What a task gives and no later one uses stays to the
// end. What adds up over microbatches is there from the beginning. What a microbatch keeps while others run has as many
// slots as there are microbatches that keep it at a time.
ArenaLayout plan_memory(const Program& program, const Graph& graph, int threads, int stage = 0);
// Without offsets; its bytes are the least that any packing needs.
ArenaLayout plan_memory_unpacked(const Program& program, const Graph& graph, int threads, int stage = 0);

// The same without offsets: buffers alone.
ArenaLayout assign_buffers(const Program& program, const Graph& graph, int threads, int stage = 0);

struct MemoryPeak {
  CategoryBytes categories{};  // bytes at the position where most is alive
  int64_t live_bytes = 0;      // their sum: no arena can be smaller
};
MemoryPeak memory_peak(const ArenaLayout& arena);

// Throws Failure naming two buffers that are alive together and overlap, or one that leaves the arena.
void verify_memory(const ArenaLayout& arena);

}  // namespace shardscope
