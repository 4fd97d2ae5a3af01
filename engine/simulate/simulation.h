#pragma once

#include <vector>

#include "engine/graph/graph.h"
#include "engine/mesh/mesh.h"
#include "engine/program/program.h"

namespace shardscope {

// When each stage runs each instruction of a sequence, in seconds from the beginning.
struct Simulation {
  struct Span {
    double start = 0, end = 0;
  };
  std::vector<std::vector<Span>> stages;  // by position
  double seconds = 0;                     // until all are done
  double bubble = 0;                      // share of that time in which a stage waits, mean over stages
};

// Runs the sequences of all stages of a purpose against each other: a stage issues its instructions in order; a receive
// begins when the message is there, a send when its channel has room for one more. `seconds` are those of each
// instruction alone. With one stage the result is the sum of its parts. Throws Failure (pipeline_cycle), naming the
// instructions that wait for each other in a ring, where the stages would never end.
//
// Example: two stages, two microbatches, forward takes 1 s on each and a message 0 s. Stage 0 runs at 0 to 1 and 1 to
// 2, stage 1 at 1 to 2 and 2 to 3: 3 s, a bubble of 1/3.
Simulation simulate(const Program& program, const Graph& graph, const Mesh& mesh, Purpose purpose,
                    const InstructionTable<double>& seconds);

// Gives each channel room for as many messages as are on their way at most where no send ever waits and instructions
// take `seconds`: so no stage waits for a slower one to take what it has not asked for yet.
void size_channels(Program& program, const Graph& graph, const Mesh& mesh, const InstructionTable<double>& seconds);

// Throws like simulate() for each purpose of the program.
void prove_no_deadlock(const Program& program, const Graph& graph, const Mesh& mesh);

}  // namespace shardscope
