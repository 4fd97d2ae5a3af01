#include "engine/compile/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "engine/base/hash.h"
#include "engine/compile/metric_outputs.h"
#include "engine/compile/training_graph.h"
#include "engine/config/write.h"
#include "engine/data/data_kind.h"
#include "engine/optim/optimizer.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/memory_plan.h"
#include "engine/shard/layout_choice.h"
#include "engine/shard/lowering.h"
#include "engine/shard/propagation.h"
#include "models/registry.h"

namespace shardscope {

namespace {

// Names the planner's version in the plan's hash: ranks of different builds must not run together.
constexpr std::string_view planner_version = "1";

void stop_here(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Cancelled{};
}

// Axes of size 1 split nothing; without them equal layouts are equal values.
Sharding without_unit_axes(const Sharding& sharding, const Mesh& mesh) {
  Sharding result = Sharding::replicated(sharding.rank);
  for (int d = 0; d < sharding.rank; ++d) {
    for (AxisIndex axis : sharding.dims[d]) {
      if (mesh.axis_size(axis) > 1) result.dims[d].push_back(axis);
    }
  }
  return result;
}

class Compilation {
 public:
  Compilation(const RunConfig& config, const DeviceProfile& profile, std::stop_token stop)
      : config_(config), stop_(stop) {
    plan_.config = config;
    plan_.profile = profile;
  }

  Plan run() {
    auto start = std::chrono::steady_clock::now();
    ForwardGraph forward = build_forward(config_);
    if (!forward.errors.empty()) throw Failure(forward.errors);
    plan_.mesh = *forward.mesh;
    TrainingGraph training = build_training(config_, std::move(*forward.graph));
    graph_ = std::make_shared<const Graph>(std::move(training.graph));
    plan_.graph = graph_;
    stop_here(stop_);
    collect_rules();
    pin_user_specs(training.cotangents);
    CostRates rates = cost_rates(plan_.profile, plan_.mesh.device_count());
    LayoutProblem problem{*graph_, plan_.mesh, rules_, training.cotangents, pins_, rates};
    if (config_.sharding.mode == LayoutMode::as_written) {
      pins_ = written_layouts(training.cotangents, std::bind_front(&Compilation::explain_propagation, this));
    } else {
      problem.start = written_layouts(training.cotangents);
    }
    std::vector<OpChoice> choices = choose_layouts(problem, stop_);
    stop_here(stop_);
    Lowered lowered = lower(problem, choices);
    plan_.program = std::move(lowered.program);
    verify(plan_.program, *graph_, plan_.mesh);
    describe(lowered, choices);
    std::vector<int> kept;
    for (const Metric& metric : plan_.metrics) kept.push_back(metric.value);
    std::vector<ValueId> gradients;
    for (StateId id : graph_->trainable()) gradients.push_back(training.cotangents[graph_->states[id].before]);
    plan_memory(plan_.program, *graph_, gradients, kept,
                plan_.profile.threads_per_rank(plan_.mesh.device_count()));
    verify_memory(plan_.program);
    total_memory(plan_.program, plan_.totals);
    predict_time(plan_.program, *graph_, rates, plan_.totals);
    warn();
    plan_.hash = hash();
    plan_.planning_milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return std::move(plan_);
  }

 private:
  void collect_rules() {
    for (OpId op = 0; op < static_cast<OpId>(graph_->ops.size()); ++op) rules_.push_back(graph_->rule(op));
  }

  void pin(ValueId value, const PartitionSpec& spec) {
    int rank = static_cast<int>(graph_->type(value).shape.size());
    pins_[value] = without_unit_axes(to_sharding(spec, plan_.mesh, rank), plan_.mesh);
  }

  void pin_user_specs(const std::vector<ValueId>& cotangents) {
    pins_.resize(graph_->values.size());
    origins_.resize(graph_->values.size());
    const SpecTargets arrays = spec_targets(*graph_);
    ResolvedSpecs resolved = resolve_specs(config_.sharding, plan_.mesh, arrays.targets);
    if (!resolved.errors.empty()) throw Failure(std::move(resolved.errors));
    plan_.warnings = std::move(resolved.warnings);
    std::vector<const ResolvedSpec*> specs(graph_->values.size());
    for (size_t t = 0; t < arrays.values.size(); ++t) {
      const ResolvedSpec& spec = resolved.specs[t];
      const ValueId value = arrays.values[t];
      specs[value] = &spec;
      if (!spec.pinned) continue;
      pin(value, spec.spec);
      origins_[value] = spec.place.empty() ? Origin{Origin::Kind::replicated, spec.origin}
                                           : Origin{Origin::Kind::user, "you set it in " + spec.origin};
      if (static_cast<size_t>(value) < cotangents.size() && cotangents[value] != no_id &&
          graph_->values[value].kind == ValueKind::result)
        pins_[cotangents[value]] = pins_[value];
    }
    for (StateId id : graph_->trainable()) {
      const State& parameter = graph_->states[id];
      const TensorType& type = graph_->type(parameter.before);
      const ResolvedSpec& spec = *specs[parameter.before];
      plan_.parameters.push_back({parameter.path,
                                  type.shape,
                                  type.dtype,
                                  spec.spec,
                                  !spec.place.empty(),
                                  to_sharding(spec.spec, plan_.mesh, static_cast<int>(type.shape.size())),
                                  id,
                                  -1,
                                  {},
                                  {}});
    }
    for (const State& state : graph_->states) pins_[state.initial] = pins_[state.before];
  }

  // The pins, and for every other forward array where propagation puts it, and its cotangent with it. Scalars stay
  // partial sums until they are needed.
  std::vector<std::optional<Sharding>> written_layouts(const std::vector<ValueId>& cotangents,
                                                       const PropagationObserver& observer = {}) const {
    std::vector<Sharding> layouts = propagate(*graph_, plan_.mesh, rules_, pins_, observer);
    std::vector<std::optional<Sharding>> written = pins_;
    for (size_t v = 0; v < written.size(); ++v) {
      const Value& value = graph_->values[v];
      if (written[v] || value.type.shape.empty() || value.producer == no_id) continue;
      if (graph_->ops[value.producer].phase == Phase::forward) written[v] = layouts[v];
    }
    std::vector<bool> gradient(written.size());
    for (StateId id : graph_->trainable()) gradient[cotangents[graph_->states[id].before]] = true;
    for (size_t v = 0; v < cotangents.size(); ++v) {
      ValueId cotangent = cotangents[v];
      if (cotangent != no_id && !written[cotangent] && !gradient[cotangent]) written[cotangent] = written[v];
    }
    return written;
  }

  void explain_propagation(ValueId value, int dim, AxisIndex axis, OpId op) {
    Origin& origin = origins_[value];
    origin.kind = Origin::Kind::propagated;
    origin.text += fmt::format("{}dimension {} took {} through {}", origin.text.empty() ? "" : "; ", dim,
                               plan_.mesh.axes()[axis].name, graph_->ops[op].name);
  }

  void describe(const Lowered& lowered, const std::vector<OpChoice>& choices) {
    std::vector<int> plan_of(graph_->states.size(), -1);
    for (size_t i = 0; i < plan_.parameters.size(); ++i) {
      plan_of[plan_.parameters[i].state] = static_cast<int>(i);
      plan_.parameters[i].value = lowered.versions[graph_->states[plan_.parameters[i].state].before].front();
    }
    for (const State& state : graph_->states) {
      if (state.follows == no_id || plan_of[state.follows] < 0) continue;
      ParameterPlan& parameter = plan_.parameters[plan_of[state.follows]];
      parameter.state_names.push_back(state.collection.substr(state.collection.find('/') + 1));
      parameter.state_values.push_back(lowered.versions[state.before].front());
    }
    for (const auto& [name, value] : graph_->inputs) plan_.input_values.push_back(lowered.versions[value].front());
    for (const std::string& name : metric_outputs(*graph_)) {
      plan_.metrics.push_back({name, lowered.versions[graph_->outputs.at(name)].back()});
    }
    for (size_t v = 0; v < graph_->values.size(); ++v) {
      const Value& value = graph_->values[v];
      bool shown = value.kind == ValueKind::input ||
                   (value.producer != no_id && graph_->ops[value.producer].phase == Phase::forward);
      if (!shown || lowered.defined[v] < 0) continue;
      Origin origin = origins_[v];
      if (origin.text.empty() && value.producer != no_id) origin = cost_origin(value.producer, choices[value.producer]);
      plan_.layouts.push_back({static_cast<ValueId>(v), value.name, value.type.shape,
                               plan_.program.values[lowered.defined[v]].sharding, origin});
    }
  }

  Origin cost_origin(OpId op, const OpChoice& choice) const {
    if (config_.sharding.mode == LayoutMode::as_written) {
      return {Origin::Kind::replicated, "nothing that you pinned reaches it"};
    }
    if (!choice.runner_up) return {Origin::Kind::replicated, "there is no other legal layout"};
    std::string other = to_string(result_sharding(rules_[op], *choice.runner_up, 0), plan_.mesh);
    return {Origin::Kind::cost,
            fmt::format("cheapest: {} instead would take {:.2f} ms more a step", other, choice.margin_seconds * 1e3)};
  }

  void warn() {
    int64_t host_bytes = plan_.totals.memory_total * plan_.mesh.device_count();
    if (host_bytes > plan_.profile.memory_bytes) {
      plan_.warnings.push_back({"memory",
                                fmt::format("the ranks need {} MiB together, the host has {} MiB", host_bytes >> 20,
                                            plan_.profile.memory_bytes >> 20),
                                "mesh", "split more, or use a smaller batch"});
    }
  }

  uint64_t hash() const {
    const DeviceProfile& profile = plan_.profile;
    Hasher hasher;
    hasher.add(planner_version).add(write_run_config(config_));
    hasher.add(profile.name).add(profile.cores).add(profile.matrix_flops_per_core).add(profile.memory_bytes_per_core);
    hasher.add(profile.collective_bytes_per_core).add(profile.collective_latency).add(profile.step_latency);
    hasher.add(profile.memory_bytes);
    hasher.add(plan_.program.arena_bytes);
    for (const Step& step : plan_.program.steps) hasher.add(step.kind).add(step.name).add(step.payload_bytes);
    for (const Buffer& buffer : plan_.program.buffers) hasher.add(buffer.offset).add(buffer.bytes);
    return hasher.digest();
  }

  const RunConfig& config_;
  std::stop_token stop_;
  Plan plan_;
  std::shared_ptr<const Graph> graph_;
  std::vector<FactorRule> rules_;
  std::vector<std::optional<Sharding>> pins_;
  std::vector<Origin> origins_;
};

}  // namespace

Plan compile(const RunConfig& config, const DeviceProfile& profile, std::stop_token stop) {
  return Compilation(config, profile, stop).run();
}

std::vector<Error> validate(const RunConfig& config) { return build_forward(config).errors; }

std::vector<ParameterInfo> list_parameters(const RunConfig& config) {
  ForwardGraph forward = build_forward(config);
  if (!forward.graph) throw Failure(forward.errors);
  std::vector<ParameterInfo> parameters;
  for (StateId id : forward.graph->trainable()) {
    const State& state = forward.graph->states[id];
    parameters.push_back({state.path, forward.graph->type(state.before)});
  }
  return parameters;
}

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

std::vector<std::pair<std::string, std::vector<std::string>>> layout_captions(const RunConfig& config) {
  const ModelDefinition* model = find_model(config.model.name);
  if (!model) return {};
  std::vector<Error> errors;
  OptionList options = resolve_options(model->options, config.model.options, "model", errors);
  return model->captions(options);
}

}  // namespace shardscope
