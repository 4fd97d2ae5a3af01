#pragma once

#include <map>
#include <string>

#include "engine/graph/graph.h"

namespace shardscope {

// What a step reports, by name: the outputs that are scalars, and the counts of layers of experts ("LAYER: chosen",
// "LAYER: dropped"). Whole on every device when the step is done.
std::map<std::string, ValueId> reported_values(const Graph& graph);
std::string chosen_name(const ExpertCounts& counts);
std::string dropped_name(const ExpertCounts& counts);

}  // namespace shardscope
