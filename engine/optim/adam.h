#pragma once

#include <functional>
#include <string>

#include "engine/ops/adam.h"
#include "engine/optim/optimizer.h"

namespace shardscope {

// Appends states "mu" and "nu" and op adam for every trainable state, of its gradient as options say that it is
// clipped. `decay_of` is the weight decay of the parameter of a name.
void append_adam(Graph& graph, const OptionList& options, const StateTypes& types,
                 const std::function<double(const std::string&)>& decay_of);

// What Adam may be given, and what it was given; without weight decay.
std::vector<OptionDefinition> adam_options();
AdamAttributes adam_attributes(const OptionList& options);

}  // namespace shardscope
