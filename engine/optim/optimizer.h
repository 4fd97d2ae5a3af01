#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/options.h"
#include "engine/graph/graph.h"

namespace shardscope {

// What an optimizer keeps its own arrays in, and whether it updates a master copy of each parameter, which is then its
// rounded value. Nothing: no master copy, and states of the parameter's type.
struct StateTypes {
  std::optional<DType> master, moments;
};

// An update rule: its hyperparameters, its state, and its update as graph ops (after Optax).
struct OptimizerDefinition {
  std::string name;
  std::string summary;  // what it is, in one phrase, for lists
  std::vector<OptionDefinition> options;
  // Appends state and update ops for every trainable state, whose gradients are known.
  void (*append)(Graph& graph, const OptionList& options, const StateTypes& types);
  // Faults between options, of those that the run file gives, each legal by itself; or nullptr.
  std::vector<Error> (*check)(const OptionList& given) = nullptr;
  // What a person should know of legal options, for parameters of these names; or nullptr.
  std::vector<Error> (*notes)(const OptionList& options, const std::vector<std::string>& parameters) = nullptr;
};

// All optimizers, by name. find_optimizer gives nullptr for an unknown name.
const std::vector<OptimizerDefinition>& all_optimizers();
const OptimizerDefinition* find_optimizer(const std::string& name);

// The collection of master copies.
inline constexpr const char* master_collection = "optimizer/master";

// Adds a state of collection "optimizer/<name>" of the shape of `parameter`, zero at first, that is sharded as it is
// unless the run file says otherwise.
StateId add_optimizer_state(Graph& graph, StateId parameter, const std::string& name, DType dtype);

// Appends the update op `op` for every trainable state, called "<parameter>/<suffix>": of the parameter, its gradient
// (clipped as the options say), a state of each of these names, and its master copy where it has one, in this order;
// its results are these states after the step, without the gradient. `attributes_of`: by the parameter's name.
void append_updates(Graph& graph, const OptionList& options, const StateTypes& types, std::string_view op,
                    std::string_view suffix, std::initializer_list<const char*> states,
                    const std::function<Attributes(const std::string& parameter)>& attributes_of);

// Of each optimizer, which is a function NAME_optimizer() of one file. Written by the build (cmake/registered.cmake).
std::vector<OptimizerDefinition> optimizer_definitions();

}  // namespace shardscope
