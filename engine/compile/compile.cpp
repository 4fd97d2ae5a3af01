#include "engine/compile/compile.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "engine/compile/describe.h"
#include "engine/compile/metric_outputs.h"
#include "engine/compile/passes.h"
#include "engine/compile/pins.h"
#include "engine/compile/plan_hash.h"
#include "engine/compile/predicted_plan.h"
#include "engine/compile/strategy_check.h"
#include "engine/compile/training_graph.h"
#include "engine/compile/verification.h"
#include "engine/compile/written_training.h"
#include "engine/config/strategy.h"
#include "engine/config/write.h"
#include "engine/graph/casts.h"
#include "engine/graph/reported_values.h"
#include "engine/machine/chosen_stack.h"
#include "engine/machine/host_machine.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/memory_limit.h"
#include "engine/plan/memory_plan.h"
#include "engine/plan/order_simulation.h"
#include "engine/plan/schedules/schedule.h"
#include "engine/plan/stack_memory.h"
#include "engine/plan/stages.h"

namespace shardscope {

namespace {

std::vector<Metric> metrics(const ResolvedRun& run, const Graph& graph, const Lowered& lowered) {
  std::vector<Metric> list = step_metrics(run, graph);
  for (Metric& metric : list) {
    const bool evaluated = metric.source == MetricSource::evaluation;
    if (evaluated || metric.source == MetricSource::step) {
      metric.values = lowered.reported.at(evaluated ? metric.name.substr(metric.name.find('_') + 1) : metric.name);
    }
  }
  return list;
}

std::vector<ExpertLayer> expert_layers(const Graph& graph, const Lowered& lowered) {
  std::vector<ExpertLayer> layers;
  for (const ExpertCounts& counts : graph.expert_counts) {
    ExpertLayer& layer = layers.emplace_back(ExpertLayer{counts.layer, 0, {}, {}});
    layer.experts = graph.type(counts.chosen).shape[0];
    layer.chosen = lowered.reported.at(chosen_name(counts));
    if (counts.dropped != no_id) layer.dropped = lowered.reported.at(dropped_name(counts));
  }
  return layers;
}

// Of a legal config's model and optimizer.
std::vector<Error> notes(const ResolvedRun& run, const Graph& graph) {
  std::vector<Error> notes;
  if (run.model->notes) notes = run.model->notes(run.model_options);
  append(notes, optimizer_notes(run, graph));
  return notes;
}

TrainingFacts training_facts(const ResolvedRun& run) {
  const ModelDefinition& model = *run.model;
  return {model.name,
          model.description ? model.description(run.model_options) : "",
          model.weights ? model.weights(run.model_options) : "",
          run.config->steps,
          run.learning_rate,
          run.data,
          model.progress,
          model.captions(run.model_options),
          refusal_to_train(run.types)};
}

std::vector<std::vector<int>> stored_inputs(const Graph& graph, const Lowered& lowered, const Program& program) {
  std::vector<std::vector<int>> values(static_cast<size_t>(program.stages));
  for (const auto& [name, value] : graph.inputs) {
    for (std::vector<int>& of_stage : values) of_stage.push_back(-1);
    for (int version : lowered.versions[value]) {
      const ProgramValue& source = program.values[version];
      if (is_source(source, graph)) values[static_cast<size_t>(source.stage)].back() = version;
    }
  }
  return values;
}

StagedOps staged_ops(const ResolvedRun& run, const Graph& graph, const std::vector<int>& layers) {
  StagedOps staged;
  staged.shape = run.pipeline;
  if (staged.empty()) return staged;
  const PipelineSchedule& schedule = *find_schedule(run.config->pipeline.schedule);
  staged.virtual_stage = virtual_stages_of_ops(graph, layers);
  for (int virtual_stage : virtual_stages_of_states(graph, staged.virtual_stage)) {
    staged.state_stage.push_back(virtual_stage % staged.shape.stages);
  }
  if (schedule.splits_backward) staged.weight_gradient = weight_gradient_ops(graph);
  staged.order = schedule.order(staged.shape);
  return staged;
}

PipelinePlan pipeline_plan(const ResolvedRun& run, const StagedOps& staged, const std::vector<int>& layers,
                           const LaidOut& laid_out) {
  PipelinePlan pipeline;
  pipeline.shape = staged.shape;
  pipeline.layers = layers;
  const Program& program = laid_out.lowered.program;
  for (int stage = 0; stage < program.stages; ++stage) {
    pipeline.totals.push_back(total(program, laid_out.arenas[static_cast<size_t>(stage)], laid_out.simulation, stage));
  }
  if (staged.empty()) return pipeline;
  pipeline.axis = run.mesh->axis;
  pipeline.schedule = run.config->pipeline.schedule;
  pipeline.order = staged.order;
  pipeline.in_flight = microbatches_in_flight(staged.order);
  const auto equal = [](const WorkItem& item) { return item.work == Work::backward ? 2.0 : 1.0; };
  pipeline.equal_bubble = simulate_order(staged.order, equal).bubble;
  return pipeline;
}

std::vector<Error> all_errors(ForwardGraph forward) {
  append(forward.run.errors, check_specs(forward));
  return at_strategy(std::move(forward.run.errors), *forward.run.config);
}

// `whole`: with all that predicted_plan() leaves out.
Plan plan_graph(const PlanRequest& request, const ForwardGraph& forward, bool whole, Passes& pass,
                std::stop_token stop) {
  const RunConfig& config = request.config;
  const ResolvedRun& run = forward.run;
  Plan plan;
  plan.machine = request.machine;
  plan.stack = chosen_stack(config.stack);
  plan.training = training_facts(run);
  plan.mesh = run.mesh->whole;
  const Mesh& mesh = run.mesh->of_a_stage;
  plan.as_written = config.sharding.mode == LayoutMode::as_written;
  WorkPrices prices(plan.machine, plan.mesh, run.mesh->axis, plan.stack);
  plan.ranks_per_host = ranks_per_host(plan.machine, prices.machine().topology());
  plan.threads_per_rank = prices.machine().threads_per_rank();
  // As written, the machine has no say in what runs where.
  const std::vector<int> layers = layers_of_chunks(forward, plan.as_written ? reference_host() : plan.machine);
  WrittenTraining written = write_training(
      run,
      [&](const std::set<std::string>& kept) {
        return std::make_shared<const TrainingGraph>(build_training(run, *forward.graph, layers, kept));
      },
      pass, stop);
  plan.graph = std::shared_ptr<const Graph>(written.training, &written.training->graph);
  const Graph& graph = *plan.graph;
  prices.use_graph(graph);
  const StagedOps staged = staged_ops(run, graph, layers);
  const ResolvedPins& resolved = written.resolved;
  const Pins& pins = resolved.pins;
  LayoutProblem problem{graph, mesh, pins.layouts, prices, std::move(written.placed.placements)};
  problem.reshard_after_forward = given_up(config.sharding.zero, graph);
  problem.microbatches = config.schedule.microbatches;
  problem.staged = staged;
  plan.memory_limit_bytes = memory_limit(config.sharding, prices.machine());
  // Of what another software stack holds, the layout search knows nothing, and arenas are not what it holds.
  Scheduling scheduling{std::numeric_limits<int64_t>::max(), config.schedule.overlap, !whole,
                        whole || plan.stack.runs_here()};
  if (plan.stack.runs_here()) problem.memory_limit_bytes = scheduling.memory_limit_bytes = plan.memory_limit_bytes;
  LaidOut laid_out = pass("lay out", [&] {
    LaidOut made =
        plan.as_written ? lay_out_as_written(problem, scheduling) : lay_out_fastest(problem, scheduling, stop);
    throw_if_stopped(stop);
    return made;
  });
  Lowered& lowered = laid_out.lowered;
  const auto hold = [&] {
    if (plan.stack.runs_here()) return;
    pass("memory of the stack", [&] {
      hold_as_stack(plan);
      return true;
    });
  };
  if (!whole) {
    for (const ArenaLayout& arena : laid_out.arenas) plan.pipeline.totals.push_back(memory_total(arena));
    plan.totals = total(plan.pipeline.totals, laid_out.seconds);
    plan.arenas = std::move(laid_out.arenas);
    plan.simulation = std::move(laid_out.simulation);
    plan.program = std::move(lowered.program);
    hold();
    return plan;
  }
  plan.pipeline = pipeline_plan(run, staged, layers, laid_out);
  plan.totals = total(plan.pipeline.totals, laid_out.seconds);
  if (!plan.as_written) plan.priced_seconds = {laid_out.priced_seconds, laid_out.priced_as_written};
  plan.program = std::move(lowered.program);
  plan.arenas = std::move(laid_out.arenas);
  Verification verification(plan.program, graph, mesh, plan.arenas);
  plan.instruction_seconds = std::move(laid_out.instruction_seconds);
  plan.hidden_seconds = std::move(laid_out.hidden_seconds);
  plan.simulation = std::move(laid_out.simulation);
  plan.parameters =
      pass("parameters", [&] { return describe_parameters(graph, mesh, resolved.states, pins.origins, lowered); });
  plan.layouts = pass("layouts", [&] {
    return describe_layouts(problem, plan.as_written ? written.placed.origins : pins.origins, config.sharding.mode,
                            laid_out, plan.program);
  });
  plan.input_values = stored_inputs(graph, lowered, plan.program);
  plan.metrics = metrics(run, graph, lowered);
  plan.expert_layers = expert_layers(graph, lowered);
  plan.spec_lines = resolved.spec_lines;
  plan.pins = pins.places;
  plan.first_rule_of_strategy = first_rule_of_strategy(config);
  if (const std::optional<size_t> first = plan.first_rule_of_strategy) {
    for (ParameterPlan& one : plan.parameters)
      one.origin.text = in_words_of_strategy(std::move(one.origin.text), *first);
    for (ValueLayout& one : plan.layouts) one.origin.text = in_words_of_strategy(std::move(one.origin.text), *first);
  }
  hold();
  plan.compute_type = run.types.compute;
  plan.bf16_products = bf16_products(plan);
  plan.warnings = resolved.warnings;
  append(plan.warnings, notes(run, graph));
  append(plan.warnings, warnings(plan, config.sharding.memory_limit_mib));
  plan.warnings = at_strategy(std::move(plan.warnings), config);
  plan.run_file = write_run_config(config);
  plan.hash = pass("hash", [&] { return plan_hash(plan, config); });
  verification.finish(pass);
  return plan;
}

// It alone fits a device, or it is faster.
bool is_better(const Plan& plan, const Plan& other) {
  const auto rank = [](const Plan& one) {
    const int64_t limit = one.memory_limit_bytes;
    return std::pair(limit > 0 && one.totals.device_bytes > limit, one.totals.seconds_per_step);
  };
  return rank(plan) < rank(other);
}

Plan compiled(const PlanRequest& request, bool whole, std::stop_token stop) {
  const auto start = std::chrono::steady_clock::now();
  Passes pass(stop);
  ForwardGraph forward = pass("build", [&] { return build_forward(request.config); });
  if (!forward.run.errors.empty()) throw Failure(all_errors(std::move(forward)));
  Plan plan = plan_graph(request, forward, whole, pass, stop);
  if (!plan.as_written) {
    for (const ForwardGraph& other : pass("build alternatives", [&] { return build_alternatives(forward); })) {
      Plan otherwise = plan_graph(request, other, whole, pass, stop);
      if (is_better(otherwise, plan)) plan = std::move(otherwise);
    }
  }
  plan.passes = pass.times();
  plan.planning_milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return plan;
}

}  // namespace

Plan compile(const PlanRequest& request, std::stop_token stop) { return compiled(request, true, stop); }

Plan predicted_plan(const PlanRequest& request, std::stop_token stop) { return compiled(request, false, stop); }

std::vector<Error> validate(const RunConfig& config) { return all_errors(build_forward(config)); }

std::vector<Error> config_warnings(const RunConfig& config) {
  ForwardGraph forward = build_forward(config);
  if (!forward.run.errors.empty()) return {};
  const std::vector<int> layers = layers_of_chunks(forward, reference_host());
  const Graph graph = build_training(forward.run, std::move(*forward.graph), layers).graph;
  std::vector<Error> warnings =
      resolve_run_specs(config.sharding, *forward.run.mesh, spec_targets(graph).targets).warnings;
  append(warnings, notes(forward.run, graph));
  return at_strategy(std::move(warnings), config);
}

std::vector<ParameterInfo> list_parameters(const RunConfig& config) {
  ForwardGraph forward = build_forward(config);
  if (!forward.graph) throw Failure(forward.run.errors);
  std::vector<ParameterInfo> parameters;
  for (StateId id : forward.graph->parameters()) {
    const State& state = forward.graph->states[id];
    TensorType type = forward.graph->type(state.before);
    if (type.dtype == DType::f32) type.dtype = forward.run.types.parameters;
    parameters.push_back({state.path, std::move(type)});
  }
  return parameters;
}

ModelDefinition::Description model_description(const RunConfig& config) {
  const ResolvedRun run = resolve_run(config);
  if (!run.errors.empty()) throw Failure(run.errors);
  if (!run.model->describe) {
    throw Failure(Error{"no_description", "model '" + config.model.name + "' is none of Hugging Face", "model.name",
                        "export its parameters without --huggingface"});
  }
  return run.model->describe(run.model_options, run.types.parameters);
}

}  // namespace shardscope
