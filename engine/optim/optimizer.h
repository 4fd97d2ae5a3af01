#pragma once

#include <string>
#include <vector>

#include "engine/base/options.h"
#include "engine/graph/graph.h"

namespace shardscope {

// An update rule: its hyperparameters, its state, and its update as graph ops (after Optax).
struct OptimizerDefinition {
  std::string name;
  std::vector<OptionDefinition> options;
  // Appends state sources and update ops for every parameter (whose gradient is known), and records them in it.
  void (*append)(Graph& graph, const OptionList& options);
};

// All optimizers; one line in optimizer.cpp adds one. find_optimizer gives nullptr for an unknown name.
const std::vector<OptimizerDefinition>& all_optimizers();
const OptimizerDefinition* find_optimizer(const std::string& name);

OptimizerDefinition adam_optimizer();

}  // namespace shardscope
