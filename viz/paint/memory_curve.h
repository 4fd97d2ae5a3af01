#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "engine/simulate/memory_in_use.h"
#include "viz/paint/memory_geometry.h"

namespace shardscope {

// Neighbouring steps of one phase in one run of a task.
struct PhaseRange {
  Phase phase = Phase::forward;
  int run = 0;              // in Sequence::runs
  int first = 0, last = 0;  // positions
};

// The memory in use, as the plan's software stack holds it, and the phases that it is used in.
struct MemoryCurve : MemoryInUse {
  std::vector<PhaseRange> phases;  // in order, together all positions
  ArenaLayout arrays;              // of the stack, which `uses` speak of; by this program empty: they are the plan's
};
// Empty when asked to stop.
MemoryCurve memory_curve(const Plan& plan, int stage, const std::stop_token& stop = {});

// The buffers that a curve speaks of; their `bytes` are what a device holds at its peak.
const ArenaLayout& arena_of(const MemoryCurve& curve, const Plan& plan, int stage);

// The bytes up to which a picture of memory goes: those that are held, or a device's limit (0: not known) unless that
// is twice as far off; and some room.
double highest_drawn(double held, int64_t limit);

// A buffer at a position: how many of its slots hold something, and the bytes of these.
struct BufferUse {
  int buffer = -1;
  int held = 0;  // slots
  int64_t bytes = 0;
  int first = 0, last = 0;  // positions of the use of the first of these slots
};
// The `most` largest in use at a position, largest first; of equals the one made first.
std::vector<BufferUse> largest_in_use(const MemoryCurve& curve, const ArenaLayout& arena, int position, size_t most);

// For each of `pixels` columns of the window [begin, end) of positions the one of its positions where most is in use.
std::vector<int> column_peaks(std::span<const int64_t> totals, double begin, double end, int pixels);

}  // namespace shardscope
