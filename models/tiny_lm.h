#pragma once

#include "models/registry.h"

namespace shardscope {

// The TinyTransformerLM of "Implementing Data Parallelism in JAX" (Flax Linen): token embedding and a table of
// sinusoids that is a parameter, pre-norm blocks of self-attention without mask and biases and a gelu MLP, a norm, a
// head without bias; mean cross-entropy of the next token. Takes "tokens" alone.
ModelDefinition tiny_lm();

}  // namespace shardscope
