#pragma once

#include "models/registry.h"

namespace shardscope {

// ParallelTransformerLayer of "Model Parallelism" (Workshop): layer norm, attention of a fused query-key-value layer
// and a gelu MLP, each behind a residual; mean squared error. Without ffn_hidden_size it is the document's
// SequenceParallelTransformerLayer: the attention alone. Without norms and residuals it is its
// SelectiveCheckpointedLayer: attention, and the MLP of its result.
//
// The fused kernel is stored as (hidden, 3, heads, size), so that an axis on its heads keeps whole heads together; its
// elements are those of the document's (hidden, 3 hidden). With qkv_layout "flat" it is stored as there.
ModelDefinition workshop_transformer();

}  // namespace shardscope
