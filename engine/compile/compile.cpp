#include "engine/compile/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <map>

#include "engine/base/hash.h"
#include "engine/compile/data_options.h"
#include "engine/compile/training_graph.h"
#include "engine/config/write.h"
#include "engine/optim/optimizer.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/memory_plan.h"
#include "engine/shard/layout_choice.h"
#include "engine/shard/lowering.h"
#include "engine/shard/propagation.h"
#include "engine/shard/written_placement.h"
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
    const auto start = phase_start_;
    ForwardGraph forward = build_forward(config_);
    if (!forward.errors.empty()) throw Failure(forward.errors);
    plan_.mesh = *forward.mesh;
    TrainingGraph training = build_training(config_, std::move(*forward.graph));
    graph_ = std::make_shared<const Graph>(std::move(training.graph));
    plan_.graph = graph_;
    end_phase("graph");
    collect_rules();
    pin_user_specs(training.cotangents);
    end_phase("rules");
    CostRates rates = cost_rates(plan_.profile, plan_.mesh.device_count());
    LayoutProblem problem{*graph_, plan_.mesh, rules_, pins_, rates};
    WrittenPlacements written = place_as_written(training.cotangents);
    end_phase("place");
    Layout layout = config_.sharding.mode == LayoutMode::as_written ? lay_out_as_written(problem, written)
                                                                    : cheapest_layout(problem, std::move(written));
    plan_.program = std::move(layout.lowered.program);
    verify(plan_.program, *graph_, plan_.mesh);
    describe(layout);
    end_phase("explain");
    verify_memory(plan_.program);
    total_memory(plan_.program, plan_.totals);
    end_phase("check");
    predict_time(plan_.program, *graph_, rates, plan_.totals);
    warn();
    plan_.hash = hash();
    end_phase("cost");
    plan_.planning_milliseconds = std::chrono::duration<double, std::milli>(phase_start_ - start).count();
    return std::move(plan_);
  }

 private:
  void end_phase(const char* name) {
    stop_here(stop_);
    const auto now = std::chrono::steady_clock::now();
    plan_.phases.push_back({name, std::chrono::duration<double, std::milli>(now - phase_start_).count()});
    phase_start_ = now;
  }

  void collect_rules() {
    for (const Op& op : graph_->ops) {
      std::vector<TensorType> operands, results;
      for (ValueId input : op.inputs) operands.push_back(graph_->type(input));
      for (ValueId output : op.outputs) results.push_back(graph_->type(output));
      rules_.push_back(op.definition->factors(op.attributes, operands, results));
    }
  }

  void pin(ValueId value, const PartitionSpec& spec) {
    int rank = static_cast<int>(graph_->type(value).shape.size());
    pins_[value] = without_unit_axes(to_sharding(spec, plan_.mesh, rank), plan_.mesh);
  }

  void pin_user_specs(const std::vector<ValueId>& cotangents) {
    pins_.resize(graph_->values.size());
    origins_.resize(graph_->values.size());
    for (const auto& [name, value] : graph_->inputs) {
      pin(value, config_.sharding.in);
      origins_[value] = {Origin::Kind::user, "you set it in sharding.in"};
    }
    ValueId logits = graph_->outputs.at("logits");
    pin(logits, config_.sharding.out);
    origins_[logits] = {Origin::Kind::user, "you set it in sharding.out"};
    if (cotangents[logits] != no_id) pins_[cotangents[logits]] = pins_[logits];
    std::map<std::vector<std::string>, const PartitionSpec*> specs;
    for (const ParameterSpec& spec : config_.sharding.parameters) specs[spec.path] = &spec.spec;
    for (const Parameter& parameter : graph_->parameters) {
      auto found = specs.find(parameter.path);
      bool named = found != specs.end();
      const PartitionSpec spec = named ? *found->second : PartitionSpec{};
      pin(parameter.value, spec);
      origins_[parameter.value] =
          named ? Origin{Origin::Kind::user, "you set it"}
                : Origin{Origin::Kind::replicated, "not named in sharding.parameters: replicated"};
      for (ValueId state : parameter.state) pins_[state] = pins_[parameter.value];
      const TensorType& type = graph_->type(parameter.value);
      plan_.parameters.push_back({parameter.path,
                                  type.shape,
                                  type.dtype,
                                  spec,
                                  named,
                                  to_sharding(spec, plan_.mesh, static_cast<int>(type.shape.size())),
                                  -1,
                                  parameter.state_names,
                                  {}});
    }
  }

  // A choice, lowered and packed.
  struct Layout {
    LayoutChoice choice;
    Lowered lowered;
    bool as_written = false;
    double seconds = 0;
  };

  Layout lay_out(const LayoutProblem& problem, LayoutChoice choice, bool as_written) {
    end_phase("choose");
    Layout layout{std::move(choice), {}, as_written};
    layout.lowered = lower(problem, layout.choice);
    end_phase("lower");
    Program& program = layout.lowered.program;
    plan_memory(program, *graph_, kept_values(layout.lowered),
                plan_.profile.threads_per_rank(plan_.mesh.device_count()));
    for (const Step& step : program.steps) layout.seconds += step_seconds(step, program, *graph_, problem.rates);
    end_phase("memory");
    return layout;
  }

  Layout lay_out_as_written(const LayoutProblem& problem, const WrittenPlacements& written) {
    const LayoutProblem fixed{problem.graph, problem.mesh, problem.rules, written.lies, problem.rates};
    return lay_out(fixed, fixed_choice(written.placements, written.lies.size()), true);
  }

  // The fastest program found that fits a device; where none is found, the fastest of all. The search estimates memory;
  // where the packed program is larger, it is asked for so much less. The program as written is looked at too where it
  // may be the only one that fits, and where the gain over it is in doubt: the search knows the latencies of
  // collectives that small arrays share only on average.
  Layout cheapest_layout(LayoutProblem problem, WrittenPlacements written) {
    constexpr int attempts = 3;
    const int64_t limit = plan_.profile.memory_bytes / plan_.mesh.device_count();
    problem.start = std::move(written);
    problem.memory_limit_bytes = limit;
    Layout best = lay_out(problem, choose_layouts(problem, stop_), false);
    auto over = [&](const Layout& layout) {
      return static_cast<double>(layout.lowered.program.arena_bytes) - static_cast<double>(limit);
    };
    auto keep_better = [&](Layout next) {
      const bool fits = over(next) <= 0, fitted = over(best) <= 0;
      if (fits != fitted ? fits : next.seconds < best.seconds) best = std::move(next);
    };
    const double start_seconds = best.choice.start_seconds, start_bytes = best.choice.start_memory_bytes;
    const double gain = start_seconds - best.choice.seconds;
    double estimate = best.choice.memory_bytes, excess = over(best);
    for (int attempt = 0; attempt < attempts && excess > 0 && estimate > excess; ++attempt) {
      problem.memory_limit_bytes = static_cast<int64_t>(estimate - excess);
      Layout next = lay_out(problem, choose_layouts(problem, stop_), false);
      estimate = next.choice.memory_bytes, excess = over(next);
      keep_better(std::move(next));
    }
    const double doubt = 0.005 * start_seconds + 16 * problem.rates.seconds_per_collective;
    const bool only_fit = over(best) > 0 && start_bytes <= static_cast<double>(limit);
    if (only_fit || best.choice.traded || gain < doubt) keep_better(lay_out_as_written(problem, problem.start));
    return best;
  }

  // Program values that are read after the last step.
  std::vector<int> kept_values(const Lowered& lowered) const {
    return {lowered.versions[graph_->outputs.at("loss")].back(),
            lowered.versions[graph_->outputs.at("accuracy")].back()};
  }

  WrittenPlacements place_as_written(const std::vector<ValueId>& cotangents) {
    PropagationObserver observer;
    if (config_.sharding.mode == LayoutMode::as_written) {
      observer = std::bind_front(&Compilation::explain_propagation, this);
    }
    const std::vector<Sharding> propagated = propagate(*graph_, plan_.mesh, rules_, pins_, observer);
    end_phase("propagate");
    return written_placements(*graph_, plan_.mesh, rules_,
                              written_layouts(*graph_, rules_, pins_, propagated, cotangents), stop_);
  }

  void explain_propagation(ValueId value, int dim, AxisIndex axis, OpId op) {
    Origin& origin = origins_[value];
    origin.kind = Origin::Kind::propagated;
    origin.text += fmt::format("{}dimension {} took {} through {}", origin.text.empty() ? "" : "; ", dim,
                               plan_.mesh.axes()[axis].name, graph_->ops[op].name);
  }

  void describe(const Layout& layout) {
    const Lowered& lowered = layout.lowered;
    for (size_t i = 0; i < plan_.parameters.size(); ++i) {
      const Parameter& parameter = graph_->parameters[i];
      plan_.parameters[i].value = lowered.versions[parameter.value].front();
      for (ValueId state : parameter.state) plan_.parameters[i].state_values.push_back(lowered.versions[state].front());
    }
    for (const auto& [name, value] : graph_->inputs) plan_.input_values.push_back(lowered.versions[value].front());
    plan_.loss_value = kept_values(lowered)[0];
    plan_.accuracy_value = kept_values(lowered)[1];
    for (size_t v = 0; v < graph_->values.size(); ++v) {
      const Value& value = graph_->values[v];
      bool shown = value.kind == ValueKind::input ||
                   (value.producer != no_id && graph_->ops[value.producer].phase == Phase::forward);
      if (!shown || lowered.defined[v] < 0) continue;
      Origin origin = origins_[v];
      if (origin.text.empty() && value.producer != no_id) origin = cost_origin(value.producer, layout);
      plan_.layouts.push_back({static_cast<ValueId>(v), value.name, value.type.shape,
                               plan_.program.values[lowered.defined[v]].sharding, origin});
    }
  }

  Origin cost_origin(OpId op, const Layout& layout) const {
    const OpChoice& choice = layout.choice[op];
    if (config_.sharding.mode == LayoutMode::as_written) {
      return {Origin::Kind::replicated, "nothing that you pinned reaches it"};
    }
    if (layout.as_written) return {Origin::Kind::cost, "cheapest: as written"};
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
    hasher.add(profile.name).add(profile.cores).add(profile.matrix_flops_per_core);
    hasher.add(profile.matrix_flops_per_core_bf16).add(profile.memory_bytes_per_core);
    hasher.add(profile.collective_bytes_per_core).add(profile.collective_latency).add(profile.step_latency);
    hasher.add(profile.memory_bytes);
    hasher.add(plan_.program.arena_bytes);
    for (const Step& step : plan_.program.steps) hasher.add(step.kind).add(step.name).add(step.payload_bytes);
    for (const Buffer& buffer : plan_.program.buffers) hasher.add(buffer.offset).add(buffer.bytes);
    return hasher.digest();
  }

  const RunConfig& config_;
  std::stop_token stop_;
  std::chrono::steady_clock::time_point phase_start_ = std::chrono::steady_clock::now();
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
  for (const Parameter& parameter : forward.graph->parameters) {
    parameters.push_back({parameter.path, forward.graph->type(parameter.value)});
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
  for (const Parameter& parameter : forward.graph->parameters) {
    paths.push_back(parameter_place({parameter.path, {}}));
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
