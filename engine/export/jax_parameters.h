#pragma once

#include <map>
#include <string>

#include "engine/base/random.h"
#include "engine/graph/graph.h"

namespace shardscope {

// A table of all parameters and init_params() as Python: a nested dict {"params": {"Dense_0": {"kernel": ...}}} of what
// the graph's initialisers draw from SEED. With values that are dropped out, dropout_keys(step) or
// dropout_keys(step, part) of `microbatches`: a nested dict of their keys; and kept(key, share, shape).
std::string jax_parameters(const Graph& graph, int64_t seed, const std::map<std::string, StepKey>& dropped,
                           int64_t microbatches);

// The optimizer of the parameters that are trained, as Python lines behind those of `optimizer`, where not all are;
// else empty.
std::string jax_frozen_parameters(const Graph& graph);

}  // namespace shardscope
