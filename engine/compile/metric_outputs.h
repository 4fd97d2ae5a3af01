#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace shardscope {

// The model's metrics: its outputs that are f32 scalars, "loss" first, then by name.
std::vector<std::string> metric_outputs(const Graph& graph);

}  // namespace shardscope
