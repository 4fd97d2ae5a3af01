#include "engine/compile/training_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/plural.h"
#include "engine/base/printable.h"
#include "engine/compile/data_request.h"
#include "engine/compile/metric_outputs.h"
#include "engine/compile/recomputed_ops.h"
#include "engine/data/data_kind.h"
#include "engine/data/token_rows.h"
#include "engine/graph/autodiff.h"
#include "engine/graph/rematerialise.h"
#include "engine/ops/constant.h"
#include "engine/ops/equation.h"
#include "engine/ops/registry.h"
#include "engine/ops/scale.h"
#include "engine/optim/learning_rate.h"
#include "engine/optim/optimizer.h"
#include "engine/plan/metrics.h"
#include "engine/plan/stages.h"
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

// Of mesh axes that do not make a mesh: their names, to judge specs by. Axes of size 1 divide everything.
Mesh mesh_of_names(const std::vector<MeshAxis>& axes) {
  std::vector<MeshAxis> named;
  for (const MeshAxis& axis : axes) {
    bool repeated =
        std::any_of(named.begin(), named.end(), [&](const MeshAxis& other) { return other.name == axis.name; });
    const bool shown = !axis.name.empty() && printable(axis.name) == axis.name;
    if (shown && !repeated && named.size() < Mesh::max_axes) named.push_back({axis.name, 1});
  }
  return Mesh(named);
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

Error indivisible_batch(int64_t rows, int64_t microbatches) {
  std::vector<int64_t> legal;
  for (int64_t parts = 1; parts <= std::min<int64_t>(rows, 64); ++parts) {
    if (rows % parts == 0) legal.push_back(parts);
  }
  return {"microbatches",
          fmt::format("{} do not divide a batch of {}", counted(microbatches, "microbatch", "microbatches"),
                      counted(rows, "row")),
          "schedule.microbatches", fmt::format("it may be {}", fmt::join(legal, ", "))};
}

// Metrics and gradients as the means over all microbatches, which add up where they are made.
ValueId accumulate(Graph& graph, ValueId value, std::string name, Phase phase, int64_t microbatches) {
  const ScaleAttributes share{1.0 / static_cast<double>(microbatches)};
  return graph.ops[graph.add_op(op_definition("accumulate"), std::move(name), phase, {value}, share)].outputs[0];
}

void accumulate_metrics(Graph& graph, int64_t microbatches) {
  for (const std::string& name : metric_outputs(graph)) {
    graph.outputs[name] = accumulate(graph, graph.outputs[name], name + "/accumulate", Phase::forward, microbatches);
  }
}

// The op that adds up what several stages give to a gradient, or no_id.
OpId sum_over_stages(const Graph& graph, const State& state, const std::vector<int>& stretches) {
  if (state.gradient == no_id) return no_id;
  const OpId id = graph.values[state.gradient].producer;
  const Op& op = graph.ops[id];
  if (op.definition != &op_definition("add") || op.phase != Phase::backward) return no_id;
  const auto stretch = [&](ValueId value) { return stretches[static_cast<size_t>(graph.values[value].producer)]; };
  return stretch(op.inputs[0]) == stretch(op.inputs[1]) ? no_id : id;
}

// Gradients add up over the microbatches; those that stages give to one parameter do so apart, and then cross once.
void accumulate_gradients(Graph& graph, int64_t microbatches, const std::vector<int>& layers) {
  const bool pipelined = layers.size() > 1;
  const std::vector<int> stretches = pipelined ? stretches_of_ops(graph, layers) : std::vector<int>();
  std::vector<OpId> last;  // of the backward phase: sums over stages
  for (StateId id : graph.trainable()) {
    const State state = graph.states[id];
    if (state.gradient == no_id) continue;
    const std::string name = graph.name(state) + "/accumulate";
    const OpId sum = pipelined ? sum_over_stages(graph, state, stretches) : no_id;
    if (sum == no_id) {
      graph.states[id].gradient = accumulate(graph, state.gradient, name, Phase::backward, microbatches);
      continue;
    }
    for (size_t i = 0; i < graph.ops[sum].inputs.size(); ++i) {
      const ValueId given = accumulate(graph, graph.ops[sum].inputs[i], name, Phase::backward, microbatches);
      graph.ops[sum].inputs[i] = given;
    }
    graph.ops[sum].phase = Phase::update;
    last.push_back(sum);
  }
  if (last.empty()) return;
  std::vector<OpId> order;
  for (OpId op = 0; op < static_cast<OpId>(graph.ops.size()); ++op) {
    if (std::ranges::find(last, op) == last.end()) order.push_back(op);
  }
  order.insert(order.end(), last.begin(), last.end());
  graph.reorder(order);
}

// Of a model that has a length of its own: data of another one.
std::vector<Error> check_sequence_length(const OptionList& model, int64_t length) {
  const OptionValue* own = find_option(model, "seq_len");
  const auto* positions = own ? std::get_if<int64_t>(own) : nullptr;
  if (length == 0 || !positions || *positions == length) return {};
  return {{"sequence_length", fmt::format("rows of {} for a model of {}", counted(length, "token"), *positions),
           "data.sequence_length", fmt::format("leave it out, or {}", *positions)}};
}

// True where a section's options are what the file says; a key that nobody knows changes none of them.
bool as_given(const std::vector<Error>& errors, size_t first) {
  return std::all_of(errors.begin() + static_cast<std::ptrdiff_t>(first), errors.end(),
                     [](const Error& error) { return error.code == "unknown_key"; });
}

}  // namespace

bool trains(const RunConfig& config) { return !config.optimizer.name.empty(); }

Schedule scheduled_rate(const RunConfig& config) {
  const OptimizerDefinition* optimizer = find_optimizer(config.optimizer.name);
  if (!optimizer) return {};
  std::vector<Error> errors;
  return learning_rate(resolve_options(optimizer->options, config.optimizer.options, "optimizer", errors));
}

std::vector<Error> optimizer_notes(const RunConfig& config, const Graph& graph) {
  if (!trains(config)) return {};
  const OptimizerDefinition& optimizer = *find_optimizer(config.optimizer.name);
  std::vector<Error> errors;
  const OptionList options = resolve_options(optimizer.options, config.optimizer.options, "optimizer", errors);
  std::vector<std::string> parameters;
  for (StateId id : graph.trainable()) parameters.push_back(graph.name(graph.states[id]));
  std::vector<Error> notes = unused_schedule_options(options);
  if (optimizer.notes) append(notes, optimizer.notes(options, parameters));
  return notes;
}

ForwardGraph build_forward(const RunConfig& config) {
  ForwardGraph result;
  std::vector<Error>& errors = result.errors;
  try {
    result.mesh = Mesh(config.mesh_axes, config.mesh_devices);
  } catch (const Failure& failure) {
    append(errors, failure.errors());
  }
  ModelContext context{1, config.deterministic, config.seed};
  const DataKind* kind = find_data_kind(config.data.name);
  OptionList data;
  if (kind) {
    size_t before = errors.size();
    data = resolve_options(kind->options, config.data.options, "data", errors);
    context.batch_size = integer_option(data, "batch_size");
    context.sequence_length = sequence_length(data);
    result.batch_known = as_given(errors, before);
    const int64_t microbatches = std::max<int64_t>(1, config.schedule.microbatches);
    if (result.batch_known && (config.schedule.microbatches < 1 || context.batch_size % microbatches != 0)) {
      errors.push_back(indivisible_batch(context.batch_size, config.schedule.microbatches));
      result.batch_known = false;
    }
    context.batch_size = std::max<int64_t>(1, context.batch_size / microbatches);
    if (result.batch_known) append(errors, kind->check(data));
  } else {
    errors.push_back(unknown("data_kind", config.data.name, "data.kind", names_of(all_data_kinds())));
  }
  if (!trains(config)) {
    // A model that is only evaluated.
  } else if (const OptimizerDefinition* optimizer = find_optimizer(config.optimizer.name)) {
    const size_t before = errors.size();
    const OptionList options = resolve_options(optimizer->options, config.optimizer.options, "optimizer", errors);
    if (as_given(errors, before)) {
      append(errors, check_learning_rate(options));
      if (optimizer->check) append(errors, optimizer->check(config.optimizer.options));
    }
  } else {
    errors.push_back(unknown("optimizer", config.optimizer.name, "optimizer.name", names_of(all_optimizers())));
  }
  if (const ModelDefinition* model = find_model(config.model.name)) {
    size_t before = errors.size();
    OptionList options = resolve_options(model->options, config.model.options, "model", errors);
    append(errors, check_sequence_length(options, context.sequence_length));
    if (as_given(errors, before)) append(errors, model->check(options));
    if (as_given(errors, before)) {
      try {
        result.graph = model->build(options, context);
      } catch (const Failure& failure) {
        append(errors, failure.errors());
      }
    }
  } else {
    errors.push_back(unknown("model", config.model.name, "model.name", names_of(all_models())));
  }
  if (!result.graph) return result;
  check_sizes(*result.graph, errors);
  append(errors, check_metric_names(metric_names(step_metrics(config, *result.graph))));
  if (trains(config)) append(errors, check_rematerialisation(*result.graph, config.schedule));
  if (result.mesh) append(errors, check_pipeline(config, *result.mesh, *result.graph));
  if (!result.batch_known) return result;
  const DataRequest request = data_request(*result.graph, config.schedule.microbatches);
  append(errors, check_data(*kind, request));
  if (errors.empty()) append(errors, check_data_files(*kind, data, request));
  return result;
}

std::vector<Error> check_specs(const RunConfig& config, const ForwardGraph& forward) {
  const Mesh mesh = forward.mesh ? *forward.mesh : mesh_of_names(config.mesh_axes);
  if (!forward.graph) return check_axis_names(config.sharding, mesh);
  std::vector<SpecTarget> targets = spec_targets(*forward.graph).targets;
  if (!forward.batch_known) {
    std::erase_if(targets, [](const SpecTarget& target) { return target.kind != SpecKind::parameter; });
  }
  return resolve_run_specs(config, mesh, targets).errors;
}

SpecTargets spec_targets(const Graph& graph) {
  SpecTargets result;
  std::vector<int> target_of(graph.states.size(), -1);
  auto add = [&](ValueId value, SpecKind kind, const std::string& name, int follows = -1) {
    result.targets.push_back({name, kind, graph.type(value), graph.values[value].logical, follows});
    result.values.push_back(value);
  };
  for (const auto& [name, value] : graph.inputs) add(value, SpecKind::input, name);
  const std::vector<std::string> metrics = metric_outputs(graph);
  std::vector<ValueId> given;  // by the model, beside metrics
  for (const auto& [name, value] : graph.outputs) {
    if (std::find(metrics.begin(), metrics.end(), name) != metrics.end()) continue;
    add(value, SpecKind::output, name);
    given.push_back(value);
  }
  for (size_t i = 0; i < graph.states.size(); ++i) {
    const State& state = graph.states[i];
    const bool optimizer = state.collection.starts_with("optimizer/");
    const SpecKind kind = optimizer         ? SpecKind::optimizer_state
                          : state.trainable ? SpecKind::parameter
                                            : SpecKind::state;
    target_of[i] = static_cast<int>(result.targets.size());
    add(state.before, kind, graph.name(state), state.follows == no_id ? -1 : target_of[state.follows]);
  }
  for (StateId id : graph.trainable()) {
    const State& state = graph.states[id];
    if (state.gradient != no_id) add(state.gradient, SpecKind::gradient, graph.name(state), target_of[id]);
  }
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::forward) continue;
    for (ValueId output : op.outputs) {
      if (std::find(given.begin(), given.end(), output) == given.end())
        add(output, SpecKind::activation, graph.values[output].name);
    }
  }
  return result;
}

ResolvedSpecs resolve_run_specs(const RunConfig& config, const Mesh& mesh, std::span<const SpecTarget> targets) {
  ShardingConfig sharding = config.sharding;
  if (sharding.zero.axis.empty() && mesh.axis_count() > 0) {
    const auto splits = [&](const MeshAxis& axis) { return axis.name != config.pipeline.axis; };
    const auto first = std::ranges::find_if(mesh.axes(), splits);
    sharding.zero.axis = first == mesh.axes().end() ? mesh.axes().front().name : first->name;
  }
  return resolve_specs(sharding, mesh_of_a_stage(config.pipeline, mesh), targets);
}

TrainingGraph build_training(const RunConfig& config, Graph forward, const Machine& machine,
                             const std::set<std::string>& kept) {
  TrainingGraph training{std::move(forward), {}, {}, {}};
  Graph& graph = training.graph;
  const Mesh mesh(config.mesh_axes, config.mesh_devices);
  training.layers = layers_of_stretches(config, mesh, graph, machine);
  const bool pipelined = training.layers.size() > 1;
  const int64_t microbatches = config.schedule.microbatches;
  const ValueId loss = trains(config) ? graph.outputs.at("loss") : no_id;
  if (microbatches > 1 || pipelined) accumulate_metrics(graph, microbatches);
  training.cotangents.assign(graph.values.size(), no_id);
  if (!trains(config)) return training;
  // The loss scale: where differentiation starts.
  const OpId scale = graph.add_op(op_definition("constant"), "loss/scale", Phase::backward, {},
                                  ConstantAttributes{1, graph.type(loss)});
  const CotangentSeed seed{loss, graph.ops[scale].outputs[0]};
  training.cotangents = differentiate(graph, {&seed, 1}, op_definition("add"), sum_attributes);
  if (microbatches > 1 || pipelined) accumulate_gradients(graph, microbatches, training.layers);
  std::vector<bool> again = recomputed_ops(graph, config.schedule);
  for (OpId op : recomputed_casts(graph, kept, again)) {
    again[op] = true;
    training.recomputed_casts.insert(graph.ops[op].name);
  }
  rematerialise(graph, again);
  std::vector<Error> errors;
  const OptimizerDefinition& optimizer = *find_optimizer(config.optimizer.name);
  optimizer.append(graph, resolve_options(optimizer.options, config.optimizer.options, "optimizer", errors));
  verify(training.graph);
  return training;
}

}  // namespace shardscope
