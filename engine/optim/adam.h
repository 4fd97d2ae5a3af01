#pragma once

#include "engine/ops/adam.h"
#include "engine/optim/optimizer.h"

namespace shardscope {

// Appends states "mu" and "nu" and op adam for every trainable state.
void append_adam(Graph& graph, const AdamAttributes& attributes);

// What Adam may be told, and what it was told; without weight decay.
std::vector<OptionDefinition> adam_options();
AdamAttributes adam_attributes(const OptionList& options);

}  // namespace shardscope
