#include "gui/document/new_run.h"

#include <algorithm>

#include "engine/compile/data_request.h"
#include "engine/compile/training_graph.h"
#include "engine/data/data_kind.h"
#include "engine/optim/optimizer.h"
#include "models/registry.h"

namespace shardscope {
namespace {

OptionList required_options(const std::vector<OptionDefinition>& definitions) {
  OptionList options;
  for (const OptionDefinition& definition : definitions)
    if (definition.required) options.emplace_back(definition.name, definition.default_value);
  return options;
}

int64_t batch_of(const DataKind& kind) {
  std::vector<Error> errors;
  return integer_option(resolve_options(kind.options, required_options(kind.options), "data", errors), "batch_size");
}

// The first kind that needs no file and gives what the model reads; empty where there is none.
std::string data_for(const ModelDefinition& model) {
  std::vector<Error> errors;
  const OptionList options = resolve_options(model.options, required_options(model.options), "model", errors);
  for (const DataKind& kind : all_data_kinds()) {
    if (std::ranges::any_of(kind.options, [](const OptionDefinition& one) { return one.required && one.is_path; }))
      continue;
    if (serves(kind, data_request(model.build(options, {batch_of(kind), true, 0})))) return kind.name;
  }
  return {};
}

// Beside metrics.
bool has_output(const RunConfig& config) {
  const ModelDefinition* model = find_model(config.model.name);
  const DataKind* kind = find_data_kind(config.data.name);
  if (!model || !kind) return false;
  std::vector<Error> errors;
  const OptionList options = resolve_options(model->options, config.model.options, "model", errors);
  const SpecTargets arrays = spec_targets(model->build(options, {batch_of(*kind), true, 0}));
  return std::ranges::count(arrays.targets, SpecKind::output, &SpecTarget::kind) > 0;
}

template <class Definition>
std::vector<std::string> names_of(const std::vector<Definition>& definitions) {
  std::vector<std::string> names;
  for (const Definition& definition : definitions) names.push_back(definition.name);
  return names;
}

}  // namespace

RunConfig new_run(const std::string& model, const std::string& optimizer, int64_t devices) {
  RunConfig config;
  config.model.name = model;
  if (const ModelDefinition* definition = find_model(model)) {
    config.model.options = required_options(definition->options);
    config.data.name = data_for(*definition);
  }
  if (const DataKind* kind = find_data_kind(config.data.name)) config.data.options = required_options(kind->options);
  if (const OptimizerDefinition* update = find_optimizer(optimizer)) {
    config.optimizer = {optimizer, required_options(update->options)};
  }
  config.mesh_axes = {{"data", devices}};
  config.sharding.in.dims = {{"data"}};
  if (has_output(config)) config.sharding.out.dims = {{"data"}};
  return config;
}

// Those that a person can choose by name alone: not what a file describes.
std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelDefinition& model : all_models()) {
    const auto needs_file = [](const OptionDefinition& one) { return one.required && one.is_path; };
    if (std::ranges::none_of(model.options, needs_file)) names.push_back(model.name);
  }
  return names;
}

std::vector<std::string> optimizer_names() { return names_of(all_optimizers()); }

}  // namespace shardscope
