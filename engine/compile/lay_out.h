#pragma once

#include <stop_token>

#include "engine/config/run_config.h"
#include "engine/program/arena_layout.h"
#include "engine/shard/layout_choice.h"
#include "engine/shard/lowering.h"
#include "engine/simulate/simulation.h"

namespace shardscope {

// A placement of every op, the program that it makes, where that is in memory and what it takes.
struct LaidOut {
  LayoutChoice choice;
  Lowered lowered;
  std::vector<ArenaLayout> arenas;  // per stage
  InstructionTable<double> instruction_seconds;
  InstructionTable<double> hidden_seconds;           // hide_behind_passes()
  double seconds = 0;                                // of the main sequence
  Simulation simulation;                             // of several stages
  double priced_seconds = 0, priced_as_written = 0;  // by the search (LayoutChoice::seconds)
  bool overlapped = false;                           // collectives may run beside computation
  bool as_written = false;                           // the placements of written_placements()

  int64_t arena_bytes() const;  // of the largest
};

// How a program is scheduled once its layouts are chosen.
struct Scheduling {
  int64_t memory_limit_bytes = 0;  // of a device; 0: not known
  OverlapMode overlap = OverlapMode::automatic;
  bool totals_only = false;  // of the simulation (simulation_totals.h)
  bool packs = true;         // arenas (scheduled_program.h)
};

// Mode as_written: `problem.start` decides.
LaidOut lay_out_as_written(const LayoutProblem& problem, const Scheduling& scheduling);

// Mode fastest: of the choices that the search looks at (choose_layouts) and the program as written, the one whose
// simulated step is shortest among those whose packed program fits a device; of all, where none fits. The program as
// written is left out where the search's own prices, which then are those of the simulation, show it to be slower. The
// choice of the result is empty where `stop` was requested.
LaidOut lay_out_fastest(const LayoutProblem& problem, const Scheduling& scheduling, std::stop_token stop);

}  // namespace shardscope
