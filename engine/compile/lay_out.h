#pragma once

#include <stop_token>

#include "engine/shard/layout_choice.h"
#include "engine/shard/lowering.h"

namespace shardscope {

// A placement of every op, and the program that it makes.
struct LaidOut {
  LayoutChoice choices;
  Lowered lowered;
  bool as_written = false;  // the placements of written_placements()
};

// Mode as_written: `problem.start` decides.
LaidOut lay_out_as_written(const LayoutProblem& problem);

// Mode cheapest: the result of the search, or as written where the program of that is predicted to take less time (and
// fits the memory limit where the search gave time to fit it). `threads` run on each rank. An empty result means that
// `stop` was requested.
LaidOut lay_out_cheapest(const LayoutProblem& problem, int threads, std::stop_token stop);

}  // namespace shardscope
