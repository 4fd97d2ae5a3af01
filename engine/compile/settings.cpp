#include "engine/compile/settings.h"

#include <algorithm>

#include "engine/compile/training_graph.h"
#include "engine/config/override.h"
#include "engine/data/data_kind.h"
#include "engine/optim/optimizer.h"
#include "models/registry.h"

namespace shardscope {
namespace {

// Hyperparameters of the model, data kind and optimizer, and parameters of the model.
std::vector<std::string> settable_paths(const RunConfig& config) {
  std::vector<std::string> paths;
  auto add = [&](const std::string& section, const std::vector<OptionDefinition>& options) {
    for (const OptionDefinition& option : options) paths.push_back(section + "." + option.name);
  };
  if (const ModelDefinition* model = find_model(config.model.name)) add("model", model->options);
  if (const DataKind* kind = find_data_kind(config.data.name)) add("data", kind->options);
  if (const OptimizerDefinition* optimizer = find_optimizer(config.optimizer.name))
    add("optimizer", optimizer->options);
  ForwardGraph forward = build_forward(config);
  if (!forward.graph) return paths;
  for (StateId id : forward.graph->trainable()) {
    paths.push_back(parameter_place({forward.graph->states[id].path, {}}));
  }
  return paths;
}

bool names_a_choice(const std::string& assignment) {
  const std::string path = assignment.substr(0, assignment.find('='));
  return path == "model.name" || path == "data.kind" || path == "optimizer.name";
}

bool sets_a_hyperparameter(const std::string& assignment) {
  return assignment.starts_with("model.") || assignment.starts_with("data.") || assignment.starts_with("optimizer.");
}

// With those of the assignments that `is_one` picks; as it is where one of them is at fault, which is found again, with
// all others, when all are applied.
template <class Pick>
RunConfig with_some(const RunConfig& config, const std::vector<std::string>& assignments, Pick is_one) {
  std::vector<std::string> some;
  std::ranges::copy_if(assignments, std::back_inserter(some), is_one);
  if (some.empty()) return config;
  try {
    return apply_overrides(config, some, settable_paths(config));
  } catch (const Failure&) {
    return config;
  }
}

// Takes the options away that another definition than the one named `before` does not have.
template <class Definition>
void keep_known(NamedOptions& section, const std::string& before, const Definition* definition) {
  if (!definition || section.name == before) return;
  std::erase_if(section.options, [&](const auto& option) {
    return std::ranges::find(definition->options, option.first, &OptionDefinition::name) == definition->options.end();
  });
}

}  // namespace

RunConfig with_settings(const RunConfig& config, const std::vector<std::string>& assignments) {
  if (assignments.empty()) return config;
  RunConfig base = with_some(config, assignments, names_a_choice);
  keep_known(base.model, config.model.name, find_model(base.model.name));
  keep_known(base.data, config.data.name, find_data_kind(base.data.name));
  keep_known(base.optimizer, config.optimizer.name, find_optimizer(base.optimizer.name));
  // Parameters' names follow from the model's hyperparameters.
  const RunConfig model = with_some(base, assignments, sets_a_hyperparameter);
  return apply_overrides(base, assignments, settable_paths(model));
}

}  // namespace shardscope
