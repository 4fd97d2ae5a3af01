#pragma once

#include <optional>
#include <vector>

#include "engine/graph/op_definition.h"
#include "engine/program/program.h"
#include "engine/shard/layout_choice.h"

namespace shardscope {

// Everything that lowering decides: the program without buffers, and where things went.
struct Lowered {
  Program program;                         // values and steps; buffers and times are the planner's
  std::vector<int> defined;                // per graph value: the program value where it is defined; -1 if never needed
  std::vector<std::vector<int>> versions;  // per graph value: all its layouts, in the order made
};

// Turns placed ops into the program of one device: local ops, and slices and collectives where a value is needed in a
// layout that it does not have. A needed layout is made once, from the version that is cheapest to start from, just
// before its first use. A parameter is updated as soon as its gradient is known and its old value no longer needed.
// Small arrays (parameters of at most `problem.bucket_bytes`, and the graph's scalar outputs) are resharded together:
// parameters at the start of the step, gradients and outputs at its end, one collective for all that share kind and
// axes.
Lowered lower(const LayoutProblem& problem, const LayoutChoice& choices);

}  // namespace shardscope
