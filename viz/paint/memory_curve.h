#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "viz/paint/memory_geometry.h"

namespace shardscope {

// A slot of a buffer (a buffer that has one: all of it) holds something from position `first` to position `last`.
struct SlotUse {
  int buffer = -1;
  int first = 0, last = 0;
};

// Neighbouring steps of one phase in one run of a task.
struct PhaseStretch {
  Phase phase = Phase::forward;
  int run = 0;              // in Sequence::runs
  int first = 0, last = 0;  // positions
};

// What is in use on each device of a stage through its main sequence as it is run, each microbatch in its turn. A value
// is in use from the step that makes it to the last one of its microbatch that reads it; parameters, states, inputs and
// what is on its way to another stage always; what adds up from the beginning; what no later task reads to the end. So
// nowhere more than the plan reserves there (live_bytes of the folded position), and as much where microbatches do not
// overlap.
struct MemoryCurve {
  std::vector<CategoryBytes> bytes;  // by position
  std::vector<int64_t> totals;       // of all categories
  std::vector<SlotUse> uses;         // by buffer, then first; those of a slot do not touch
  std::vector<PhaseStretch> phases;  // in order, together all positions
  int peak = 0;                      // the first position where most is in use
};
// Time and space go with the length of the sequence and the number of its values. Empty when asked to stop.
MemoryCurve memory_curve(const Plan& plan, int stage, const std::stop_token& stop = {});

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
