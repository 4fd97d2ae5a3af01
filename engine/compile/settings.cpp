#include "engine/compile/settings.h"

#include <algorithm>
#include <utility>

#include "engine/compile/training_graph.h"
#include "engine/config/override.h"
#include "engine/data/data_kind.h"
#include "engine/optim/learning_rate.h"
#include "engine/optim/optimizer.h"
#include "models/registry.h"

namespace shardscope {
namespace {

// Hyperparameters of the model, data kind and optimizer.
std::vector<std::string> option_paths(const RunConfig& config) {
  std::vector<std::string> paths;
  for (const char* section : {"model", "data", "optimizer"}) {
    for (const OptionDefinition& option : option_definitions(config, section))
      paths.push_back(std::string(section) + "." + option.name + (option.is_open ? "." : ""));
  }
  return paths;
}

// Those, and parameters of the model, whose graph is built for it: most of the time of a change.
std::vector<std::string> settable_paths(const RunConfig& config) {
  std::vector<std::string> paths = option_paths(config);
  ForwardGraph forward = build_forward(config);
  if (!forward.graph) return paths;
  for (StateId id : forward.graph->parameters()) {
    paths.push_back(parameter_place({forward.graph->states[id].path, {}}));
  }
  return paths;
}

bool names_a_choice(const std::string& assignment) {
  const std::string path = assignment.substr(0, assignment.find('='));
  return path == "model.name" || path == "data.kind" || path == "optimizer.name";
}

bool sets_a_parameter(const std::string& assignment) { return assignment.starts_with("sharding.parameters"); }

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
    return apply_overrides(config, some, option_paths(config));
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

template <class Definition>
std::vector<OptionDefinition> options_of(const Definition* definition) {
  return definition ? definition->options : std::vector<OptionDefinition>{};
}

}  // namespace

std::vector<OptionDefinition> option_definitions(const RunConfig& config, const std::string& section) {
  if (section == "model") return options_of(find_model(config.model.name));
  if (section == "data") return options_of(find_data_kind(config.data.name));
  return options_of(find_optimizer(config.optimizer.name));
}

std::vector<OptionDefinition> offered_options(const RunConfig& config, const std::string& section) {
  std::vector<OptionDefinition> offered = option_definitions(config, section);
  std::erase_if(offered, [](const OptionDefinition& option) { return option.is_open; });
  if (section != "optimizer" || offered.empty()) return offered;
  std::vector<Error> errors;
  const std::vector<std::string> idle =
      idle_schedule_options(resolve_options(offered, config.optimizer.options, section, errors));
  std::erase_if(offered, [&](const OptionDefinition& option) {
    return std::ranges::find(idle, option.name) != idle.end() && !config.optimizer.find(option.name);
  });
  return offered;
}

RunConfig with_default_options(RunConfig config) {
  for (const auto& [name, section] :
       {std::pair{"model", &config.model}, {"data", &config.data}, {"optimizer", &config.optimizer}}) {
    for (const OptionDefinition& option : option_definitions(config, name)) {
      if (!option.is_open && !section->find(option.name))
        section->options.emplace_back(option.name, option.default_value);
    }
  }
  return config;
}

RunConfig with_settings(const RunConfig& config, const std::vector<std::string>& assignments) {
  if (assignments.empty()) return config;
  RunConfig base = with_some(config, assignments, names_a_choice);
  keep_known(base.model, config.model.name, find_model(base.model.name));
  keep_known(base.data, config.data.name, find_data_kind(base.data.name));
  keep_known(base.optimizer, config.optimizer.name, find_optimizer(base.optimizer.name));
  if (std::ranges::none_of(assignments, sets_a_parameter)) {
    try {
      return apply_overrides(base, assignments, option_paths(base));
    } catch (const Failure&) {  // found again, with hints that list parameters
    }
  }
  // Parameters' names follow from the model's hyperparameters.
  const RunConfig model = with_some(base, assignments, sets_a_hyperparameter);
  return apply_overrides(base, assignments, settable_paths(model));
}

}  // namespace shardscope
