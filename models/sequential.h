#pragma once

#include "models/registry.h"

namespace shardscope {

// The layer lists of "Model Parallelism" (Workshop), its pipeline's stages one behind the other: the layers that
// model.layers lists (models/layer_list.h), and the mean squared error of what the last one gives. Layers are built in
// order as nnx modules draw their keys; the parameters of layer i are params/layers/i/kernel and bias. The document has
// nothing between its layers, and so a product of matrices; relu between them is ours.
ModelDefinition sequential();

}  // namespace shardscope
