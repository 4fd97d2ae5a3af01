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

// Of mesh axes that do not make a mesh: their names, to judge specs by. Axes of size 1 divide everything.
Mesh mesh_of_names(const std::vector<MeshAxis>& axes) {
  std::vector<MeshAxis> named;
  for (const MeshAxis& axis : axes) {
    bool repeated =
        std::any_of(named.begin(), named.end(), [&](const MeshAxis& other) { return other.name == axis.name; });
    if (!axis.name.empty() && !repeated && named.size() < Mesh::max_axes) named.push_back({axis.name, 1});
  }
  return Mesh(named);
}

// Without a graph the shapes are not known, and only names are judged.
void check_data_specs(const ShardingConfig& sharding, const Mesh& mesh, const Graph* graph,
                      std::vector<Error>& errors) {
  if (!graph) {
    append(errors, check_names(sharding.in, mesh, "sharding.in"));
    append(errors, check_names(sharding.out, mesh, "sharding.out"));
    return;
  }
  for (const auto& [name, value] : graph->inputs) {
    std::vector<Error> found = check(sharding.in, mesh, graph->type(value).shape, "sharding.in");
    append(errors, found);
    if (!found.empty()) break;  // all inputs share the spec
  }
  append(errors, check(sharding.out, mesh, graph->type(graph->outputs.at("logits")).shape, "sharding.out"));
}

void check_parameter_specs(const ShardingConfig& sharding, const Mesh& mesh, const Graph* graph,
                           std::vector<Error>& errors) {
  for (const ParameterSpec& spec : sharding.parameters) {
    if (!graph) {
      append(errors, check_names(spec.spec, mesh, parameter_place(spec)));
      continue;
    }
    auto found = std::find_if(graph->parameters.begin(), graph->parameters.end(),
                              [&](const Parameter& parameter) { return parameter.path == spec.path; });
    if (found != graph->parameters.end()) {
      append(errors, check(spec.spec, mesh, graph->type(found->value).shape, parameter_place(spec)));
      continue;
    }
    std::vector<std::string> paths;
    for (const Parameter& parameter : graph->parameters) paths.push_back(joined(parameter.path));
    std::vector<std::string> near = near_names(joined(spec.path), paths);
    std::string hint =
        near.empty() ? "its parameters are listed by 'shardrun show'" : name_hint(joined(spec.path), near);
    errors.push_back(
        {"unknown_parameter", "the model has no parameter '" + joined(spec.path) + "'", parameter_place(spec), hint});
  }
}

// Beyond this the sums of a plan could leave 64 bits.
constexpr double largest_array_bytes = 1099511627776.0 * 16;

void check_sizes(const Graph& graph, std::vector<Error>& errors) {
  for (const Value& value : graph.values) {
    double bytes = static_cast<double>(byte_size(value.type.dtype));
    for (int64_t size : value.type.shape) bytes *= static_cast<double>(size);
    if (bytes <= largest_array_bytes) continue;
    errors.push_back({"too_large",
                      "'" + value.name + "' of shape " + to_string(value.type.shape) + " is larger than 16 TiB",
                      "model", "a smaller model or batch"});
    return;
  }
}

// True where a section's options are what the file says; a key that nobody knows changes none of them.
bool as_given(const std::vector<Error>& errors, size_t first) {
  return std::all_of(errors.begin() + static_cast<std::ptrdiff_t>(first), errors.end(),
                     [](const Error& error) { return error.code == "unknown_key"; });
}

}  // namespace

bool trains(const RunConfig& config) { return !config.optimizer.name.empty(); }

ForwardGraph build_forward(const RunConfig& config) {
  ForwardGraph result;
  std::vector<Error>& errors = result.errors;
  try {
    result.mesh = Mesh(config.mesh_axes, config.mesh_devices);
  } catch (const Failure& failure) {
    append(errors, failure.errors());
  }
  ModelContext context{1, config.deterministic, config.seed};
  bool batch_known = false;
  if (const DataKind* kind = find_data_kind(config.data.name)) {
    size_t before = errors.size();
    OptionList options = resolve_options(kind->options, config.data.options, "data", errors);
    context.batch_size = integer_option(options, "batch_size");
    batch_known = as_given(errors, before);
  } else {
    errors.push_back(unknown("data_kind", config.data.name, "data.kind", names_of(all_data_kinds())));
  }
  if (!trains(config)) {
    // A model that is only evaluated.
  } else if (const OptimizerDefinition* optimizer = find_optimizer(config.optimizer.name)) {
    resolve_options(optimizer->options, config.optimizer.options, "optimizer", errors);
  } else {
    errors.push_back(unknown("optimizer", config.optimizer.name, "optimizer.name", names_of(all_optimizers())));
  }
  if (const ModelDefinition* model = find_model(config.model.name)) {
    size_t before = errors.size();
    OptionList options = resolve_options(model->options, config.model.options, "model", errors);
    if (as_given(errors, before)) append(errors, model->check(options));
    if (as_given(errors, before)) result.graph = model->build(options, context);
  } else {
    errors.push_back(unknown("model", config.model.name, "model.name", names_of(all_models())));
  }
  const Mesh mesh = result.mesh ? *result.mesh : mesh_of_names(config.mesh_axes);
  const Graph* graph = result.graph ? &*result.graph : nullptr;
  if (graph) check_sizes(*graph, errors);
  check_data_specs(config.sharding, mesh, batch_known ? graph : nullptr, errors);
  check_parameter_specs(config.sharding, mesh, graph, errors);
  return result;
}

TrainingGraph build_training(const RunConfig& config, Graph forward) {
  TrainingGraph training{std::move(forward), {}};
  training.cotangents.assign(training.graph.values.size(), no_id);
  if (!trains(config)) return training;
  training.cotangents = differentiate(training.graph, training.graph.outputs.at("loss"), op_definition("add"));
  std::vector<Error> errors;
  const OptimizerDefinition& optimizer = *find_optimizer(config.optimizer.name);
  optimizer.append(training.graph, resolve_options(optimizer.options, config.optimizer.options, "optimizer", errors));
  verify(training.graph);
  return training;
}

}  // namespace shardscope
