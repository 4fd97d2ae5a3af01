#pragma once

#include "models/registry.h"

namespace shardscope {

// The MLP of "Tensor Parallel and Transformers Scaling" (MinText, tutorial 3): relu(x w1 + b1) w2 with mean squared
// error. Parameters carry the document's mesh rules as logical names, w2's (embed, mlp) too: its mlp dimension is the
// output, which is one wide there.
ModelDefinition mintext_mlp();

}  // namespace shardscope
