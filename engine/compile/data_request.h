#pragma once

#include "engine/data/data_source.h"
#include "engine/graph/graph.h"

namespace shardscope {

// What a model's graph asks of its data: its inputs in the order of their names.
DataRequest data_request(const Graph& graph);

}  // namespace shardscope
