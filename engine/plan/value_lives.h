#pragma once

#include <vector>

#include "engine/graph/graph.h"
#include "engine/program/program.h"

namespace shardscope {

// When a program value is needed, as positions of its stage's main sequence, folded, inclusive; and by how many
// microbatches at a time. `first` is where it is made, or earlier where another microbatch may still keep it then. What
// a collective reads and writes is needed from its start until it is done.
struct ValueLife {
  int first = -1;
  int last = -1;  // -1: never used
  int slot_count = 1;
};

// Of every value of a stage. What a task gives and no later one uses stays to the end; what adds up over microbatches
// is there from the beginning; sources are there always.
//
// Example: in 1F1B over 2 stages the first runs F0 F1 B0 F2 B1 ...: what forward keeps for backward is kept by two
// microbatches at a time, so it has 2 slots and lives through both tasks.
std::vector<ValueLife> value_lives(const Program& program, const Graph& graph, int stage);

}  // namespace shardscope
