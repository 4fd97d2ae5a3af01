#pragma once

#include <stop_token>
#include <vector>

#include "engine/compile/passes.h"
#include "engine/compile/pins.h"
#include "engine/compile/training_graph.h"

namespace shardscope {

// The step's graph, what the run file says of its arrays, and their layouts as written.
struct WrittenTraining {
  TrainingGraph training;
  ResolvedPins resolved;
  PlacedAsWritten placed;
};

// Of a resolved run and its forward graph. Backward recomputes no cast whose recomputation would need communication.
WrittenTraining write_training(const ResolvedRun& run, const Machine& machine, const Graph& forward, Passes& pass,
                               std::stop_token stop);

// ZeRO stage 3: parameters, and what is made of them alone, are gathered once for forward and once for backward. Per
// value; empty at other stages.
std::vector<bool> given_up(const ZeroConfig& zero, const Graph& graph);

}  // namespace shardscope
