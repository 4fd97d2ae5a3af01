#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/mesh/mesh.h"
#include "engine/program/program.h"
#include "engine/simulate/stage_clock.h"

namespace shardscope {

// When each stage runs each instruction of a sequence, in seconds from the beginning.
struct Simulation {
  using Span = TimeSpan;
  // By position, on the stream `compute`, one after the other: a start takes as long as the host is late with it, a
  // done is as long as the device waits for the transfer.
  std::vector<std::vector<Span>> stages;
  std::vector<std::vector<TransferSpan>> transfers;  // per stage, by end
  std::vector<std::string> streams;                  // their names
  struct Communication {
    double exposed = 0;  // the device waits for collectives
    double hidden = 0;   // they run while it computes
  };
  std::vector<Communication> communication;  // per stage
  double seconds = 0;                        // until all are done
  double bubble = 0;                         // share of that time in which a stage waits for others, mean over stages

  double most_exposed() const;  // s: of the stage whose device waits longest for collectives
  // In which a stage's device computes, sends, receives, or waits for a collective.
  double working_seconds(int stage) const;
};

// Runs the sequences of all stages of a purpose against each other, on the streams of each (stage_clock.h): a stage
// issues its instructions in order; a collective's start enqueues its transfer, its done waits for it; a receive begins
// when the message is there, a send when its channel has room for one more. `seconds` are those of each instruction
// alone, of a start those of the transfer. On streams that are not joined, with one stage, the result is the sum of its
// parts. Throws Failure (pipeline_cycle), naming the instructions that wait for each other in a ring, where the stages
// would never end.
//
// Example: two stages, two microbatches, forward takes 1 s on each and a message 0 s. Stage 0 runs at 0 to 1 and 1 to
// 2, stage 1 at 1 to 2 and 2 to 3: 3 s, a bubble of 1/3.
//
// Example: one stage of start (4 s), compute (3 s), done. Not joined: compute at 0 to 3, then the transfer, 7 s, 4 s
// exposed. Joined without slowing down: both from 0 on, 4 s, the done at 3 to 4: 1 s exposed, 3 s hidden.
Simulation simulate(const Program& program, const Graph& graph, const Mesh& mesh, Purpose purpose,
                    const InstructionTable<double>& seconds, const Streams& streams = {});

// Gives each channel room for as many messages as are on their way at most where no send ever waits and instructions
// take `seconds`: so no stage waits for a slower one to take what it has not asked for yet. The result is what
// simulate() gives then; with `totals_only`, what simulate_totals() does.
Simulation simulate_with_room(Program& program, const Graph& graph, const Mesh& mesh, Purpose purpose,
                              const InstructionTable<double>& seconds, const Streams& streams, bool totals_only);

// Throws like simulate() for each purpose of the program.
void prove_no_deadlock(const Program& program, const Graph& graph, const Mesh& mesh);

}  // namespace shardscope
