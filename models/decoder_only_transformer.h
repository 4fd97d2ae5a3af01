#pragma once

#include "models/registry.h"

namespace shardscope {

// The decoder-only transformer of "Experiment with Model Sharding Using Parallax" (Flax Linen): token and learned
// position embeddings, pre-norm blocks of self-attention and a gelu MLP, an output projection; mean cross-entropy with
// integer labels.
ModelDefinition decoder_only_transformer();

}  // namespace shardscope
