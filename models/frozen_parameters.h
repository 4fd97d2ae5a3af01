#pragma once

#include "engine/base/options.h"
#include "engine/graph/graph.h"

namespace shardscope {

// Options of a model whose parameters need not all be trained: "frozen", patterns of names of parameters that are not;
// "lora.rank", "lora.alpha", "lora.targets".
std::vector<OptionDefinition> frozen_options();

// Freezes the parameters that the options name: they get no gradient and no optimizer's state. With adapters, all
// parameters but these. Throws Failure: unmatched (a pattern that names none, model.frozen[i]; a target that is no
// layer, model.lora.targets[i]), nothing_trained.
void freeze_parameters(Graph& graph, const OptionList& options);

// Whether a parameter, by its path, is one of an adapter.
bool is_of_adapter(const std::vector<std::string>& path);

}  // namespace shardscope
