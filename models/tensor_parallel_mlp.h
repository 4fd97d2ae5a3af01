#pragma once

#include "models/registry.h"

namespace shardscope {

// The feed-forward pair of "How To Scale Your Model", as the tensor-parallel document (MinText, tutorial 3) goes
// through it: Out = (In W_in) W_out with In[B, D], W_in[D, F], W_out[F, D], behind a layer In = X W_before, whose
// parameter needs dIn; mean squared error. Dimensions and values have the document's names.
ModelDefinition tensor_parallel_mlp();

}  // namespace shardscope
