#pragma once

#include <stop_token>

#include "engine/config/run_config.h"
#include "engine/program/arena_layout.h"
#include "engine/shard/layout_choice.h"
#include "engine/shard/lowering.h"
#include "engine/simulate/simulation.h"

namespace shardscope {

// A placement of every op, the program that it makes, where that lies in memory and what it takes.
struct LaidOut {
  LayoutChoice choice;
  Lowered lowered;
  std::vector<ArenaLayout> arenas;  // per stage
  InstructionTable<double> instruction_seconds;
  double seconds = 0;       // of the main sequence
  Simulation simulation;    // of several stages
  bool as_written = false;  // the placements of written_placements()

  int64_t arena_bytes() const;  // of the largest
};

// How a program is scheduled once its layouts are chosen.
struct Scheduling {
  int64_t memory_limit_bytes = 0;  // of a device
  OverlapMode overlap = OverlapMode::automatic;
};

// Mode as_written: `problem.start` decides.
LaidOut lay_out_as_written(const LayoutProblem& problem, const Scheduling& scheduling);

// Mode fastest: the fastest program found that fits a device; where none is found, the fastest of all. The search
// estimates memory; where the packed program is larger, it is asked for so much less. The program as written is looked
// at too where it may be the only one that fits, and where the gain over it is in doubt: the search knows the latencies
// of collectives that small arrays share only on average, and does not see what runs beside computation. The choice of
// the result is empty where `stop` was requested.
LaidOut lay_out_fastest(LayoutProblem problem, const Scheduling& scheduling, std::stop_token stop);

}  // namespace shardscope
