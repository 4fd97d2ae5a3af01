#pragma once

#include "engine/data/data_source.h"
#include "engine/graph/graph.h"

namespace shardscope {

// What a model's graph asks of its data: its inputs in the order of their names. The graph is that of one microbatch;
// the data have the rows of all.
DataRequest data_request(const Graph& graph, int64_t microbatches = 1);

}  // namespace shardscope
