#pragma once

#include "models/registry.h"

namespace shardscope {

// LogicalDotReluDot of "Scaling Up: Sharding and Parallelism with JAX and Flax NNX": two bias-free layers, embed ->
// hidden -> embed, and mean squared error. Dimensions are called batch, embed, hidden.
ModelDefinition logical_dot_relu_dot();

}  // namespace shardscope
