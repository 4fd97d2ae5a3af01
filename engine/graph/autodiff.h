#pragma once

#include <span>
#include <vector>

#include "engine/graph/graph.h"

namespace shardscope {

// A value of the forward graph and the cotangent with which differentiation starts there: of the same type.
struct CotangentSeed {
  ValueId value = no_id;
  ValueId cotangent = no_id;
};

// Appends the backward phase: reverse-mode differentiation from the seeds (a loss and its scale, say) with respect to
// every trainable state. A value used several times gets its cotangents summed by `add` ops in the order of reverse
// uses; `add_attributes` makes those of such a sum. What a cast narrowed for several uses gets no sum of its own: the
// cotangent of each use is widened, and these are summed, as by a program with a cast in front of each use. Sets
// State::gradient. Returns the cotangent of every value that was there, no_id where it has none, as of one that was
// narrowed for several uses.
//
// Throws Failure with all faults: no_gradient, naming a trainable state that does not reach a seed; and naming an op
// through which a seed reaches one, but which has no gradient for that operand and does not say that this is meant.
std::vector<ValueId> differentiate(Graph& graph, std::span<const CotangentSeed> seeds, const OpDefinition& add,
                                   Attributes (*add_attributes)(const TensorType&));

}  // namespace shardscope
