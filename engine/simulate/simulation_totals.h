#pragma once

#include "engine/simulate/simulation.h"

namespace shardscope {

// simulate() without when each instruction and transfer runs: `stages` and `transfers` of the result are empty, all
// else is the same. For programs of many runs, of which spans fill hundreds of megabytes.
Simulation simulate_totals(const Program& program, const Graph& graph, const Mesh& mesh, Purpose purpose,
                           const InstructionTable<double>& seconds, const Streams& streams);

}  // namespace shardscope
