#pragma once

#include <vector>

#include "engine/config/run_config.h"
#include "engine/graph/graph.h"

namespace shardscope {

// Numbers of a strategy that this model and batch cannot have, each with why and what is near. `forward` is the graph
// of a microbatch, null where it is not known. Nothing of a config without a strategy.
std::vector<Error> check_strategy(const RunConfig& config, const Graph* forward);

// Errors and warnings of a config where its strategy says what they are of: mesh.axes[1] is strategy.tensor. Names that
// only other models' dimensions have are no fault of a strategy: those warnings are left out. So are errors of the
// expansion that follow from what check_strategy() says.
std::vector<Error> at_strategy(std::vector<Error> errors, const RunConfig& config);

}  // namespace shardscope
