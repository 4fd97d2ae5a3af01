#pragma once

#include "engine/ops/split.h"
#include "models/layer_kind.h"

namespace shardscope {

// Parts of these sizes, of the last dimension of what a layer takes.
inline SplitAttributes parts_of_last(const LayerBuilder& builder, std::vector<int64_t> sizes) {
  const TensorType& type = builder.module.graph().type(builder.inputs[0]);
  return {static_cast<int>(type.shape.size()) - 1, std::move(sizes)};
}

}  // namespace shardscope
