#pragma once

#include "engine/base/options.h"
#include "engine/graph/graph.h"
#include "engine/optim/optimizer.h"

namespace shardscope {

// optax.sgd's momentum and nesterov; momentum 0: none.
std::vector<OptionDefinition> momentum_options();
bool has_momentum(const OptionList& options);

// Appends state "trace" and op momentum_sgd for every trainable state, of its gradient as options say that it is
// clipped.
void append_momentum(Graph& graph, const OptionList& options, const StateTypes& types);

}  // namespace shardscope
