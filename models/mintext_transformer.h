#pragma once

#include "models/registry.h"

namespace shardscope {

// The transformer of "Tensor Parallel and Transformers Scaling" (MinText, tutorial 3): tied embedding, blocks of
// RMSNorm, attention without a mask and a gelu MLP, all without biases; mean cross-entropy with integer labels. Query
// head i uses key head i / (num_heads / kv_heads). Dimensions have the logical names of the document.
ModelDefinition mintext_transformer();

}  // namespace shardscope
