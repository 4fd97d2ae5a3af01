#pragma once

#include <functional>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/compile/passes.h"
#include "engine/compile/pins.h"
#include "engine/compile/training_graph.h"

namespace shardscope {

// The step's graph, what the run file says of its arrays, and their layouts as written.
struct WrittenTraining {
  std::shared_ptr<const TrainingGraph> training;
  ResolvedPins resolved;
  PlacedAsWritten placed;
};

// build_training() of a run and its forward graph, by the names of what recomputed_casts() leaves out.
using MakeTraining = std::function<std::shared_ptr<const TrainingGraph>(const std::set<std::string>& kept)>;

// Backward recomputes no cast whose recomputation would need communication.
WrittenTraining write_training(const ResolvedRun& run, const MakeTraining& make, Passes& pass, std::stop_token stop);

// ZeRO stage 3: parameters, and what is made of them alone, are gathered once for forward and once for backward. Per
// value; empty at other stages.
std::vector<bool> given_up(const ZeroConfig& zero, const Graph& graph);

}  // namespace shardscope
