#pragma once

#include <vector>

#include "engine/graph/graph.h"
#include "engine/mesh/mesh.h"
#include "engine/program/program.h"

namespace shardscope {

// When each stage of a pipeline does each step of its main sequence, in seconds from the beginning.
struct StageTimeline {
  struct Span {
    double start = 0, end = 0;
  };
  std::vector<std::vector<Span>> stages;  // by position
  double seconds = 0;                     // until all are done
  double bubble = 0;                      // share of that time in which a stage waits, mean over stages
};

// Plays the sequences of all stages against each other: a stage does its steps in order; a receive begins when the
// message is there, a send when its channel has room for one more. `seconds` are those of each step alone.
// Throws Failure (pipeline_cycle), naming the steps that wait for each other in a ring, where they would never end.
StageTimeline play_stages(const Program& program, const Graph& graph, const Mesh& mesh, Purpose purpose,
                          const StepTable<double>& seconds);

// Gives each channel room for as many messages as are on their way at most where no send ever waits and steps take what
// they take at reference rates: so no stage waits for a slower one to take what it has not asked for yet.
void size_channels(Program& program, const Graph& graph, const Mesh& mesh);

// Throws like play_stages() for each purpose of the program.
void prove_no_cycle(const Program& program, const Graph& graph, const Mesh& mesh);

}  // namespace shardscope
