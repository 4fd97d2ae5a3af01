#include "engine/compile/training_graph.h"

#include <algorithm>

#include "engine/compile/data_options.h"
#include "engine/graph/autodiff.h"
#include "engine/ops/registry.h"
#include "engine/optim/optimizer.h"
#include "models/registry.h"

namespace shardscope {

namespace {

template <class Definitions>
std::vector<std::string> names_of(const Definitions& definitions) {
  std::vector<std::string> names;
  for (const auto& definition : definitions) names.push_back(definition.name);
  return names;
}

void append(std::vector<Error>& errors, std::vector<Error> more) {
  errors.insert(errors.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

Error unknown(const std::string& what, const std::string& name, const std::string& where,
              const std::vector<std::string>& known) {
  return {"unknown_" + what, "unknown " + what + " '" + name + "'", where, name_hint(name, known)};
}

std::string joined(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& part : path) text += (text.empty() ? "" : "/") + part;
  return text;
}

void check_specs(const RunConfig& config, const Graph& graph, const Mesh& mesh, std::vector<Error>& errors) {
  for (const auto& [name, value] : graph.inputs) {
    std::vector<Error> found = check(config.sharding.in, mesh, graph.type(value).shape, "sharding.in");
    append(errors, found);
    if (!found.empty()) break;  // all inputs share the spec
  }
  append(errors, check(config.sharding.out, mesh, graph.type(graph.outputs.at("logits")).shape, "sharding.out"));
  for (const ParameterSpec& spec : config.sharding.parameters) {
    auto found = std::find_if(graph.parameters.begin(), graph.parameters.end(),
                              [&](const Parameter& parameter) { return parameter.path == spec.path; });
    if (found != graph.parameters.end()) {
      append(errors, check(spec.spec, mesh, graph.type(found->value).shape, parameter_place(spec)));
      continue;
    }
    std::vector<std::string> paths;
    for (const Parameter& parameter : graph.parameters) paths.push_back(joined(parameter.path));
    std::vector<std::string> near = near_names(joined(spec.path), paths);
    std::string hint = near.empty() ? "its parameters are listed by 'shardrun show'" : name_hint(joined(spec.path), near);
    errors.push_back({"unknown_parameter", "the model has no parameter '" + joined(spec.path) + "'",
                      parameter_place(spec), hint});
  }
}

}  // namespace

ForwardGraph build_forward(const RunConfig& config) {
  ForwardGraph result;
  std::vector<Error>& errors = result.errors;
  try {
    result.mesh = Mesh(config.mesh_axes, config.mesh_devices);
  } catch (const Failure& failure) {
    append(errors, failure.errors());
  }
  ModelContext context{1, config.deterministic, config.seed};
  if (const DataKind* kind = find_data_kind(config.data.name)) {
    OptionList options = resolve_options(kind->options, config.data.options, "data", errors);
    context.batch_size = integer_option(options, "batch_size");
  } else {
    errors.push_back(unknown("data_kind", config.data.name, "data.kind", names_of(all_data_kinds())));
  }
  if (const OptimizerDefinition* optimizer = find_optimizer(config.optimizer.name)) {
    resolve_options(optimizer->options, config.optimizer.options, "optimizer", errors);
  } else {
    errors.push_back(unknown("optimizer", config.optimizer.name, "optimizer.name", names_of(all_optimizers())));
  }
  const ModelDefinition* model = find_model(config.model.name);
  if (!model) {
    errors.push_back(unknown("model", config.model.name, "model.name", names_of(all_models())));
    return result;
  }
  size_t before = errors.size();
  OptionList options = resolve_options(model->options, config.model.options, "model", errors);
  if (errors.size() == before) append(errors, model->check(options));
  if (errors.size() != before) return result;
  result.graph = model->build(options, context);
  if (result.mesh) check_specs(config, *result.graph, *result.mesh, errors);
  return result;
}

TrainingGraph build_training(const RunConfig& config, Graph forward) {
  TrainingGraph training{std::move(forward), {}};
  training.cotangents = differentiate(training.graph, training.graph.outputs.at("loss"), op_definition("add"));
  std::vector<Error> errors;
  const OptimizerDefinition& optimizer = *find_optimizer(config.optimizer.name);
  optimizer.append(training.graph, resolve_options(optimizer.options, config.optimizer.options, "optimizer", errors));
  verify(training.graph);
  return training;
}

}  // namespace shardscope
