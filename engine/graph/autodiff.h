#pragma once

#include "engine/graph/graph.h"

namespace shardscope {

// Appends the backward phase: reverse-mode differentiation of the scalar `loss` (cotangent 1) with respect to every
// parameter. Sets Parameter::gradient. A value used several times gets its cotangents summed by `add` ops in the order
// of reverse uses. Throws Failure naming a parameter that does not reach the loss. `add` is the op that sums two
// values. Returns the cotangent of every forward value, no_id where it has none.
std::vector<ValueId> differentiate(Graph& graph, ValueId loss, const OpDefinition& add);

}  // namespace shardscope
