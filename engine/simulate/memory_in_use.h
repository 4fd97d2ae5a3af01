#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/program/arena_layout.h"
#include "engine/program/program.h"

namespace shardscope {

// A slot of a buffer (a buffer that has one: all of it) holds something from position `first` to position `last`.
struct SlotUse {
  int buffer = -1;
  int first = 0, last = 0;
};

// What is in use on each device of a stage through its main sequence as it is run, each microbatch in its turn: what
// simulate() is for time. A value is in use from the instruction that makes it to the last one of its microbatch that
// reads it; parameters, states, inputs and what is on its way to another stage always; what adds up from the beginning;
// what no later task reads to the end. So nowhere more than the arena reserves there, and as much where microbatches do
// not overlap.
struct MemoryInUse {
  std::vector<CategoryBytes> bytes;  // by position
  std::vector<int64_t> totals;       // of all categories
  std::vector<SlotUse> uses;         // by buffer, then first; those of a slot do not touch
  int peak = 0;                      // the first position where most is in use
};
// Time and space go with the length of the sequence and the number of its values. Empty when asked to stop.
MemoryInUse memory_in_use(const Program& program, const Graph& graph, const ArenaLayout& arena, int stage,
                          const std::stop_token& stop = {});

// The same of arrays whose lives do not follow from the program alone, as another software stack holds them: each is in
// use from its first position to its last, in its slot of the microbatch. Where slots widen a life beyond the tasks
// that make and read its values, from and to where these are made and read.
MemoryInUse memory_in_use_by_lives(const Program& program, const Graph& graph, const ArenaLayout& arrays, int stage,
                                   const std::stop_token& stop = {});

}  // namespace shardscope
