#pragma once

#include <memory>

#include "engine/mesh/partition_spec.h"
#include "gui/document/edits.h"
#include "gui/panels/array_facts.h"
#include "gui/planning/planner.h"

namespace shardscope::made {

// A small model that needs no engine: three parameters, four steps of which two communicate. What the plan says of
// bytes follows from mesh and specs, so that every edit shows.
inline std::vector<ParameterInfo> parameters() {
  return {{{"params", "Embed_0", "embedding"}, {{1024, 512}, DType::f32}},
          {{"params", "Attention_0", "query", "kernel"}, {{512, 8, 64}, DType::f32}},
          {{"params", "Dense_0", "bias"}, {{1024}, DType::f32}}};
}

inline RunConfig config() {
  RunConfig config;
  config.model = {"made", {{"embed_dim", int64_t{512}}, {"dropout_rate", 0.1}}};
  config.mesh_axes = {{"data", 4}, {"model", 2}};
  config.sharding.in.dims = {{"data"}, {}};
  config.sharding.out.dims = {{"data"}, {}};
  config.sharding.parameters = {{{"params", "Embed_0", "embedding"}, {{{"data"}, {"model"}}}},
                                {{"params", "Attention_0", "query", "kernel"}, {{{}, {"model"}, {}}}}};
  config.data = {"synthetic_lm", {{"batch_size", int64_t{64}}, {"seed", int64_t{0}}}};
  config.optimizer = {"adam", {{"learning_rate", 1e-3}}};
  return config;
}

inline int add_value(Plan& plan, const std::string& name, const Shape& shape, const Sharding& sharding, ValueId value,
                     MemoryCategory category, int first, int last) {
  ProgramValue lies{name, value, DType::f32, shape, sharding, local_shape(sharding, plan.mesh, shape), 0};
  Buffer buffer{name, category, lies.bytes(), plan.program.arena_bytes, first, last, first == 0 && last == 3};
  lies.buffer = static_cast<int>(plan.program.buffers.size());
  plan.program.arena_bytes += buffer.bytes;
  plan.totals.memory[static_cast<size_t>(category)] += buffer.bytes;
  plan.program.buffers.push_back(buffer);
  plan.program.values.push_back(lies);
  return static_cast<int>(plan.program.values.size()) - 1;
}

inline Step make_step(StepKind kind, const std::string& name, Phase phase) {
  Step step;
  step.kind = kind;
  step.name = name;
  step.phase = phase;
  return step;
}

inline Plan plan(const RunConfig& config, std::stop_token = {}) {
  Plan plan;
  plan.config = config;
  plan.mesh = Mesh(config.mesh_axes);
  auto graph = std::make_shared<Graph>();
  std::vector<Error> errors;
  for (const ParameterInfo& info : parameters()) {
    const QString key = parameter_key(info.path);
    const PartitionSpec spec = spec_of(config, key);
    const std::vector<Error> found = check(spec, plan.mesh, info.type.shape, place_of(key).toStdString());
    errors.insert(errors.end(), found.begin(), found.end());
  }
  const int64_t batch = 64;
  if (batch % config.mesh_axes.at(0).size != 0)
    errors.push_back({"indivisible", "batch 64 is not divisible by " + std::to_string(config.mesh_axes[0].size),
                      "mesh.axes[0].size", "legal sizes: 1, 2, 4, 8"});
  if (!errors.empty()) throw Failure(errors);

  for (const ParameterInfo& info : parameters()) {
    ParameterPlan parameter;
    parameter.path = info.path;
    parameter.shape = info.type.shape;
    const QString key = parameter_key(info.path);
    parameter.spec = spec_of(config, key);
    parameter.named = is_named(config, key);
    parameter.sharding = to_sharding(parameter.spec, plan.mesh, static_cast<int>(info.type.shape.size()));
    const ValueId value = static_cast<ValueId>(graph->values.size());
    parameter.state = static_cast<StateId>(graph->states.size());
    graph->values.push_back({key.toStdString(), info.type, ValueKind::state, no_id, 0, parameter.state, {}});
    graph->states.push_back({info.path, "params", no_id, value, no_id, no_id, true});
    parameter.value = add_value(plan, key.toStdString(), info.type.shape, parameter.sharding, value,
                                MemoryCategory::parameters, 0, 3);
    parameter.state_names = {"mu", "nu"};
    for (const std::string& state : parameter.state_names)
      parameter.state_values.push_back(add_value(plan, state + "/" + key.toStdString(), info.type.shape,
                                                 parameter.sharding, no_id, MemoryCategory::optimizer, 0, 3));
    plan.parameters.push_back(parameter);
  }
  Sharding tokens = to_sharding(config.sharding.in, plan.mesh, 2);
  graph->values.push_back({"tokens", {{64, 128}, DType::i32}, ValueKind::input, no_id, 0, no_id, {}});
  graph->inputs["tokens"] = 3;
  plan.layouts.push_back({3, "tokens", {64, 128}, tokens, {Origin::Kind::user, "you set it"}});

  const ParameterPlan& embedding = plan.parameters.front();
  const int whole = add_value(plan, "embedding, gathered", embedding.shape, Sharding::replicated(2), 0,
                              MemoryCategory::collectives, 0, 1);
  const int hidden =
      add_value(plan, "hidden", {64, 512}, Sharding::replicated(2), no_id, MemoryCategory::activations, 1, 2);
  const double shards = double(plan.mesh.device_count());
  const double bytes = 1024 * 512 * 4;
  Step gather = make_step(StepKind::all_gather, "params/Embed_0/gather", Phase::forward);
  gather.inputs = {embedding.value};
  gather.outputs = {whole};
  for (int axis = 0; axis < plan.mesh.axis_count(); ++axis) gather.axes.push_back(static_cast<AxisIndex>(axis));
  gather.group_size = plan.mesh.device_count();
  gather.payload_bytes = static_cast<int64_t>(bytes);
  gather.wire_bytes = bytes * (shards - 1) / shards;
  gather.seconds = 0.004;
  gather.cause = "gather needs all rows; the parameter is split over data";
  Step lookup = make_step(StepKind::compute, "params/Embed_0/lookup", Phase::forward);
  lookup.inputs = {whole};
  lookup.outputs = {hidden};
  lookup.flops = 2e9;
  lookup.seconds = 0.010;
  Step reduce = make_step(StepKind::all_reduce, "params/Dense_0/bias", Phase::backward);
  reduce.inputs = reduce.outputs = {hidden};
  reduce.axes = {0};
  reduce.group_size = plan.mesh.axis_size(0);
  reduce.payload_bytes = 131072;
  reduce.wire_bytes = 131072 * 2 * double(reduce.group_size - 1) / double(reduce.group_size);
  reduce.seconds = 0.001;
  reduce.cause = "partial sums over data meet a parameter that every device holds";
  Step update = make_step(StepKind::compute, "adam/update", Phase::update);
  update.seconds = 0.002;
  plan.program.steps = {gather, lookup, reduce, update};
  for (const Step& step : plan.program.steps) {
    plan.totals.wire_bytes_per_device += step.wire_bytes;
    plan.totals.flops_per_device += step.flops;
    plan.totals.seconds_per_step += step.seconds;
  }
  plan.totals.memory_total = plan.program.arena_bytes;
  plan.totals.live_lower_bound = plan.program.arena_bytes;
  plan.graph = graph;
  plan.hash = std::hash<std::string>()(std::to_string(plan.totals.memory_total) + "/" +
                                       std::to_string(plan.totals.wire_bytes_per_device));
  plan.planning_milliseconds = 1;
  return plan;
}

inline PlanSource source() {
  return {[](const RunConfig& config, std::stop_token stop) { return plan(config, stop); },
          [](const RunConfig&) { return parameters(); }};
}

}  // namespace shardscope::made
