#pragma once

#include <vector>

#include "engine/base/options.h"
#include "engine/graph/graph.h"

namespace shardscope {

// optax.clip_by_global_norm before an optimizer's update: option clip_by_global_norm, 0 for none.
OptionDefinition clipping_option();

// The gradients that an update takes, one for each trainable state in their order. Where they are clipped, which is
// done in f32, appends ops
// sum_of_squares of each gradient, one global_norm of them all, and clip_by_global_norm of each.
std::vector<ValueId> clipped_gradients(Graph& graph, const OptionList& options);

}  // namespace shardscope
