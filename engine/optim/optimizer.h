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
  // Appends state and update ops for every trainable state, whose gradients are known.
  void (*append)(Graph& graph, const OptionList& options);
  // What a person should know of legal options, for parameters of these names; or nullptr.
  std::vector<Error> (*notes)(const OptionList& options, const std::vector<std::string>& parameters) = nullptr;
};

// All optimizers; one line in optimizer.cpp adds one. find_optimizer gives nullptr for an unknown name.
const std::vector<OptimizerDefinition>& all_optimizers();
const OptimizerDefinition* find_optimizer(const std::string& name);

// Adds a state of collection "optimizer/<name>" of the type of `parameter`, zero at first, that lies as it does unless
// the run file says otherwise.
StateId add_optimizer_state(Graph& graph, StateId parameter, const std::string& name);

OptimizerDefinition adam_optimizer();
OptimizerDefinition adamw_optimizer();
OptimizerDefinition sgd_optimizer();

}  // namespace shardscope
