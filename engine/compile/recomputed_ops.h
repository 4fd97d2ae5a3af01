#pragma once

#include <vector>

#include "engine/base/error.h"
#include "engine/config/run_config.h"
#include "engine/graph/graph.h"

namespace shardscope {

// Per op of a graph that is differentiated: whether backward makes its results again, by schedule.rematerialise. A
// result that is read by a forward op outside of its layer (of its group of layers, of its part of the layer), and a
// result that the graph gives, is kept, so that each layer can be made again by itself. By pattern, all ops of such
// names.
std::vector<bool> recomputed_ops(const Graph& graph, const ScheduleConfig& schedule);

// rematerialise, at schedule.rematerialise, where the policy means no op of the model.
std::vector<Error> check_rematerialisation(const Graph& forward, const ScheduleConfig& schedule);

}  // namespace shardscope
