#pragma once

#include "models/registry.h"

namespace shardscope {

// The GPT-2 of "Scaling Up: Sharding and Parallelism with JAX and Flax NNX": token and learned position embeddings,
// the slides' pre-norm blocks (causal attention, gelu MLP, dropout behind each; xavier_uniform kernels), a norm, a head
// without bias; mean cross-entropy with integer labels.
ModelDefinition nnx_gpt2();

}  // namespace shardscope
