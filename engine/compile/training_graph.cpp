#include "engine/compile/training_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/plural.h"
#include "engine/base/printable.h"
#include "engine/compile/data_request.h"
#include "engine/compile/metric_outputs.h"
#include "engine/compile/recomputed_ops.h"
#include "engine/compile/strategy_check.h"
#include "engine/compile/token_split.h"
#include "engine/compile/typed_graph.h"
#include "engine/data/data_kind.h"
#include "engine/data/token_rows.h"
#include "engine/graph/autodiff.h"
#include "engine/graph/rematerialise.h"
#include "engine/machine/chosen_stack.h"
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

// Of a microbatch, with its tokens and experts in the blocks that are known.
ModelContext model_context(const ResolvedRun& run) {
  return {run.microbatch_rows, run.config->deterministic, run.config->seed, run.sequence_length, run.split.blocks, {}};
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

std::vector<Error> check_kept_axes(const RunConfig& config) {
  std::vector<Error> errors;
  std::vector<std::string> names;
  for (const MeshAxis& axis : config.mesh_axes) names.push_back(axis.name);
  for (size_t i = 0; i < config.sharding.keep.size(); ++i) {
    const std::string& axis = config.sharding.keep[i];
    if (std::ranges::find(names, axis) != names.end()) continue;
    errors.push_back({"unknown_axis", fmt::format("the mesh has no axis '{}'", axis),
                      fmt::format("sharding.keep[{}]", i), name_hint(axis, names)});
  }
  return errors;
}

// A sum over the microbatches, each of which adds so much of the value where it is made.
ValueId accumulate(Graph& graph, ValueId value, std::string name, Phase phase, double share) {
  const ScaleAttributes scale{share};
  return graph.ops[graph.add_op(op_definition("accumulate"), std::move(name), phase, {value}, scale)].outputs[0];
}

void accumulate_metrics(Graph& graph, double share) {
  for (const std::string& name : metric_outputs(graph)) {
    graph.outputs[name] = accumulate(graph, graph.outputs[name], name + "/accumulate", Phase::forward, share);
  }
}

void accumulate_counts(Graph& graph) {
  for (ExpertCounts& counts : graph.expert_counts) {
    for (ValueId* value : {&counts.chosen, &counts.dropped}) {
      if (*value == no_id) continue;
      graph.place = graph.ops[graph.values[*value].producer].place;
      *value = accumulate(graph, *value, graph.values[*value].name + "/accumulate", Phase::forward, 1);
      graph.place = {};
    }
  }
}

// The op that adds up what several stages give to a gradient, or no_id.
OpId sum_over_stages(const Graph& graph, const State& state, const std::vector<int>& virtual_stages) {
  if (state.gradient == no_id) return no_id;
  const OpId id = graph.values[state.gradient].producer;
  const Op& op = graph.ops[id];
  if (op.definition != &op_definition("add") || op.phase != Phase::backward) return no_id;
  const auto virtual_stage = [&](ValueId value) {
    return virtual_stages[static_cast<size_t>(graph.values[value].producer)];
  };
  return virtual_stage(op.inputs[0]) == virtual_stage(op.inputs[1]) ? no_id : id;
}

// Ops from `first_sum` on each go behind the one that makes what they add up, so that it is not kept longer, or behind
// backward; the `last` behind all.
void order_sums(Graph& graph, OpId first_sum, bool behind_backward, const std::vector<OpId>& last) {
  std::vector<std::pair<OpId, OpId>> sums;  // of what an op makes
  for (OpId sum = first_sum; sum < static_cast<OpId>(graph.ops.size()); ++sum)
    sums.emplace_back(behind_backward ? first_sum - 1 : graph.values[graph.ops[sum].inputs[0]].producer, sum);
  std::ranges::sort(sums);
  std::vector<OpId> order;
  auto next = sums.begin();
  for (OpId op = 0; op < first_sum; ++op) {
    if (std::ranges::find(last, op) == last.end()) order.push_back(op);
    for (; next != sums.end() && next->first == op; ++next) order.push_back(next->second);
  }
  order.insert(order.end(), last.begin(), last.end());
  graph.reorder(order);
}

// Gradients add up over the microbatches; those that stages give to one parameter do so apart, and then cross once.
void accumulate_gradients(Graph& graph, double share, const std::vector<int>& layers, bool behind_backward) {
  const bool pipelined = layers.size() > 1;
  const std::vector<int> virtual_stages = pipelined ? virtual_stages_of_ops(graph, layers) : std::vector<int>();
  std::vector<OpId> last;  // of the backward phase: sums over stages
  const auto first_sum = static_cast<OpId>(graph.ops.size());
  for (StateId id : graph.trainable()) {
    const State state = graph.states[id];
    if (state.gradient == no_id) continue;
    const std::string name = graph.name(state) + "/accumulate";
    const OpId sum = pipelined ? sum_over_stages(graph, state, virtual_stages) : no_id;
    if (sum == no_id) {
      graph.states[id].gradient = accumulate(graph, state.gradient, name, Phase::backward, share);
      continue;
    }
    for (size_t i = 0; i < graph.ops[sum].inputs.size(); ++i) {
      const ValueId given = accumulate(graph, graph.ops[sum].inputs[i], name, Phase::backward, share);
      graph.ops[sum].inputs[i] = given;
    }
    graph.ops[sum].phase = Phase::update;
    last.push_back(sum);
  }
  order_sums(graph, first_sum, behind_backward, last);
}

}  // namespace

std::vector<Error> optimizer_notes(const ResolvedRun& run, const Graph& graph) {
  if (!run.optimizer) return {};
  std::vector<std::string> parameters;
  for (StateId id : graph.trainable()) parameters.push_back(graph.name(graph.states[id]));
  std::vector<Error> notes = unused_schedule_options(run.optimizer_options);
  if (run.optimizer->notes) append(notes, run.optimizer->notes(run.optimizer_options, parameters));
  return notes;
}

ForwardGraph build_forward(const RunConfig& config) {
  ForwardGraph result{resolve_run(config), {}, {}};
  ResolvedRun& run = result.run;
  std::vector<Error>& errors = run.errors;
  if (!run.may_build) {
    append(errors, check_strategy(config, nullptr));
    return result;
  }
  try {
    result.graph = run.model->build(run.model_options, model_context(run));
    if (run.mesh && run.batch_known) run.split = token_split(config, *run.mesh, *result.graph);
    if (run.split.blocks != TokenBlocks{}) {
      result.of_one_block = std::move(result.graph);
      result.graph = run.model->build(run.model_options, model_context(run));
    }
  } catch (const Failure& failure) {
    append(errors, failure.errors());
    return result;
  }
  const Graph& graph = *result.graph;
  check_sizes(graph, errors);
  append(errors, check_strategy(config, &graph));
  append(errors, check_metric_names(metric_names(step_metrics(run, graph))));
  if (config.trains()) append(errors, check_rematerialisation(graph, config.schedule));
  if (run.mesh) append(errors, check_pipeline(config, *run.mesh, graph));
  if (!run.batch_known) return result;
  run.data.request = data_request(graph, config.schedule.microbatches);
  append(errors, check_data(*run.data.kind, run.data.request));
  if (errors.empty()) append(errors, check_data_files(*run.data.kind, run.data.options, run.data.request));
  return result;
}

std::vector<int> layers_of_chunks(const ForwardGraph& forward, const Machine& machine) {
  const ResolvedRun& run = forward.run;
  return layers_of_chunks(run.config->pipeline, run.pipeline,
                          forward.of_one_block ? *forward.of_one_block : *forward.graph, machine);
}

std::vector<ForwardGraph> build_alternatives(const ForwardGraph& forward) {
  const ResolvedRun& run = forward.run;
  if (!run.model->alternatives) return {};
  const ModelContext context = model_context(run);
  std::vector<ForwardGraph> others;
  for (OptionList& options : run.model->alternatives(run.model_options, context)) {
    ForwardGraph& other =
        others.emplace_back(ForwardGraph{run, run.model->build(options, context), forward.of_one_block});
    other.run.model_options = std::move(options);
  }
  return others;
}

std::vector<Error> check_specs(const ForwardGraph& forward) {
  const RunConfig& config = *forward.run.config;
  std::vector<Error> errors = check_kept_axes(config);
  const StagedMesh mesh =
      forward.run.mesh ? *forward.run.mesh : staged_mesh(config.pipeline, mesh_of_names(config.mesh_axes));
  if (!forward.graph) {
    append(errors, check_axis_names(config.sharding, mesh.whole));
    return errors;
  }
  std::vector<SpecTarget> targets = spec_targets(*forward.graph).targets;
  if (!forward.run.batch_known) {
    std::erase_if(targets, [](const SpecTarget& target) { return target.kind != SpecKind::parameter; });
  }
  append(errors, resolve_run_specs(config.sharding, mesh, targets).errors);
  return errors;
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
    const bool optimizer = state.is_of_optimizer();
    const SpecKind kind = optimizer              ? SpecKind::optimizer_state
                          : state.is_parameter() ? SpecKind::parameter
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

ResolvedSpecs resolve_run_specs(ShardingConfig sharding, const StagedMesh& mesh, std::span<const SpecTarget> targets) {
  const std::vector<MeshAxis>& axes = mesh.whole.axes();
  if (sharding.zero.axes.empty() && !axes.empty()) {
    size_t first = mesh.axis == AxisIndex{0} && axes.size() > 1 ? 1 : 0;
    for (size_t axis = axes.size(); axis-- > 0;) {
      if (axes[axis].size > 1 && mesh.axis != static_cast<AxisIndex>(axis)) first = axis;
    }
    sharding.zero.axes = {axes[first].name};
  }
  return resolve_specs(sharding, mesh.of_a_stage, targets);
}

TrainingGraph build_training(const ResolvedRun& run, Graph forward, const std::vector<int>& layers,
                             const std::set<std::string>& kept) {
  TrainingGraph training{std::move(forward), {}, {}, {}};
  Graph& graph = training.graph;
  const bool pipelined = layers.size() > 1;
  const int64_t microbatches = run.pipeline.microbatches;
  const ValueId loss = run.optimizer ? graph.outputs.at("loss") : no_id;
  // Metrics and gradients are means over the microbatches, counts are sums.
  const double share = 1.0 / static_cast<double>(microbatches);
  if (microbatches > 1 || pipelined) {
    accumulate_metrics(graph, share);
    accumulate_counts(graph);
  }
  training.cotangents.assign(graph.values.size(), no_id);
  const auto store = [&] {
    if (!run.types.retype()) return;
    DifferentiatedGraph typed = with_types({graph, training.cotangents}, run.types);
    graph = std::move(typed.graph);
    training.cotangents = std::move(typed.cotangents);
  };
  if (!run.optimizer) {
    store();
    training.arrays = spec_targets(graph);
    return training;
  }
  // The loss scale: where differentiation starts.
  const OpId scale = graph.add_op(op_definition("constant"), "loss/scale", Phase::backward, {},
                                  ConstantAttributes{1, graph.type(loss)});
  const CotangentSeed seed{loss, graph.ops[scale].outputs[0]};
  training.cotangents = differentiate(graph, {&seed, 1}, op_definition("add"), sum_attributes);
  store();
  if (microbatches > 1 || pipelined) {
    const StackMemory held = chosen_stack(run.config->stack).memory;
    accumulate_gradients(graph, share, layers, held.gradients_until_backward_ends);
  }
  std::vector<bool> again = recomputed_values(graph, run.config->schedule, layers);
  for (OpId op : recomputed_casts(graph, kept, again, layers)) {
    again[graph.ops[op].outputs[0]] = true;
    training.recomputed_casts.insert(graph.ops[op].name);
  }
  rematerialise(graph, again);
  run.optimizer->append(graph, run.optimizer_options, {run.types.master, run.types.moments});
  verify(training.graph);
  training.arrays = spec_targets(graph);
  return training;
}

}  // namespace shardscope
