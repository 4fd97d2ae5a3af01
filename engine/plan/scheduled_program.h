#pragma once

#include <cstdint>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/program/arena_layout.h"
#include "engine/program/program.h"
#include "engine/simulate/simulation.h"

namespace shardscope {

// What follows from the order in which a program's instructions are issued.
struct ScheduledProgram {
  std::vector<ArenaLayout> arenas;  // per stage
  Simulation simulation;            // of the main sequence

  int64_t arena_bytes() const;  // of the largest
};

struct ScheduleProblem {
  const Graph& graph;
  const Mesh& mesh;  // of a stage
  const InstructionTable<double>& seconds;
  const Streams& streams;
  int threads = 1;                 // of a rank
  int64_t memory_limit_bytes = 0;  // of a device; 0: not known
  OverlapMode overlap = OverlapMode::automatic;
  bool totals_only = false;  // of the simulation (simulation_totals.h)
  bool packs = true;         // arenas; else buffers have no offsets, and an arena's bytes are those of its peak
};

// Sizes the program's channels and chooses the order of each of its tasks, which lowering gave in blocking form: with
// collectives beside computation (overlap_schedule.h), with the largest lookahead whose packed program fits the memory
// limit (where that is not known: needs no more than the blocking form) and whose simulated step is shorter than in
// blocking form; else as listed. What does not fit in blocking form either is scheduled as if there were room, so that
// times of plans compare.
ScheduledProgram schedule(Program& program, const ScheduleProblem& problem);

}  // namespace shardscope
