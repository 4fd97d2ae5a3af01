#pragma once

#include <vector>

#include "engine/graph/graph.h"

namespace shardscope {

// Makes forward results anew for backward instead of keeping them (T. Chen et al., "Training deep nets with sublinear
// memory cost", 2016; jax.checkpoint). `again`: per value, true for results of forward ops that are
// recomputed. Each such op is cloned, in phase recompute, in front of the first backward op that needs one of these
// results, behind the clones that it needs itself; backward reads the clones. What is not recomputed is kept from
// forward. Attributes are the same, so that dropout drops the same. Ops change their numbers.
//
// Example: x -> a -> b -> loss, of which b is recomputed: forward a b; backward loss/grad, b/recompute, b/grad, a/grad.
void rematerialise(Graph& graph, const std::vector<bool>& again);

}  // namespace shardscope
