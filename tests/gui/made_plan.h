#pragma once

#include <algorithm>
#include <memory>

#include "engine/compile/resolved_run.h"
#include "engine/config/write.h"
#include "engine/machine/host_machine.h"
#include "engine/mesh/partition_spec.h"
#include "engine/ops/registry.h"
#include "gui/document/edits.h"
#include "gui/planning/planner.h"
#include "gui/workspace/array_facts.h"

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

inline int add_value(Plan& plan, const Shape& shape, const Sharding& sharding, ValueId value, MemoryCategory category,
                     int first, int last) {
  ProgramValue program_value{value, false, 0, DType::f32, shape, sharding, local_shape(sharding, plan.mesh, shape)};
  Buffer buffer{static_cast<int>(plan.program.values.size()),
                category,
                program_value.bytes(),
                plan.arenas[0].bytes,
                first,
                last,
                first == 0 && last == 3};
  plan.arenas[0].buffer_of.push_back(static_cast<int>(plan.arenas[0].buffers.size()));
  plan.arenas[0].bytes += buffer.bytes;
  plan.totals.memory[static_cast<size_t>(category)] += buffer.bytes;
  plan.arenas[0].buffers.push_back(buffer);
  plan.program.values.push_back(program_value);
  return static_cast<int>(plan.program.values.size()) - 1;
}

// A state of the graph that is sharded as `follows` does; gives its value.
inline ValueId add_state(Graph& graph, const ParameterInfo& info, const std::string& collection,
                         const std::string& name, StateId follows) {
  State state;
  state.path = info.path;
  state.collection = collection;
  state.before = static_cast<ValueId>(graph.values.size());
  state.follows = follows;
  state.trainable = follows == no_id;
  Value& value = graph.values.emplace_back();
  value.name = name;
  value.type = info.type;
  value.kind = ValueKind::state;
  value.state = static_cast<StateId>(graph.states.size());
  graph.states.push_back(state);
  return state.before;
}

// A value that is not stored; gives its id.
inline ValueId add_graph_value(Graph& graph, const std::string& name, TensorType type, ValueKind kind) {
  Value& value = graph.values.emplace_back();
  value.name = name;
  value.type = std::move(type);
  value.kind = kind;
  return static_cast<ValueId>(graph.values.size()) - 1;
}

inline OpId add_op(Graph& graph, const std::string& name) {
  Op& op = graph.ops.emplace_back();
  op.name = name;
  op.definition = &op_definition("constant");
  return static_cast<OpId>(graph.ops.size()) - 1;
}

inline Plan plan(const RunConfig& config, std::stop_token = {}) {
  Plan plan;
  plan.run_file = write_run_config(config);
  plan.compute_type = resolve_run(config).types.compute;
  plan.training.model = config.model.name;
  plan.training.steps = config.steps;
  plan.pipeline.shape.microbatches = static_cast<int>(config.schedule.microbatches);
  plan.as_written = config.sharding.mode == LayoutMode::as_written;
  plan.mesh = Mesh(config.mesh_axes);
  plan.machine = reference_host();
  plan.ranks_per_host = {plan.mesh.device_count()};
  auto graph = std::make_shared<Graph>();
  std::vector<Error> errors;
  for (const ParameterInfo& info : parameters()) {
    const ParameterRef array{info.path};
    const PartitionSpec spec = spec_of(config, array);
    const std::vector<Error> found = check(spec, plan.mesh, info.type.shape, place_of(array).toStdString());
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
    const ParameterRef array{info.path};
    const std::string name = name_of(array).toStdString();
    parameter.spec = spec_of(config, array);
    parameter.named = find_parameter_spec(config.sharding, info.path);
    parameter.sharding = to_sharding(parameter.spec, plan.mesh, static_cast<int>(info.type.shape.size()));
    const ValueId value = add_state(*graph, info, "params", name, no_id);
    parameter.state = graph->values[value].state;
    parameter.value = add_value(plan, info.type.shape, parameter.sharding, value, MemoryCategory::parameters, 0, 3);
    parameter.state_names = {"mu", "nu"};
    for (const std::string& state : parameter.state_names) {
      const ValueId kept =
          add_state(*graph, info, "optimizer/" + state, "optimizer/" + state + "/" + name, parameter.state);
      parameter.state_values.push_back(
          add_value(plan, info.type.shape, parameter.sharding, kept, MemoryCategory::optimizer, 0, 3));
    }
    plan.parameters.push_back(parameter);
  }
  Sharding tokens = to_sharding(config.sharding.in, plan.mesh, 2);
  const ValueId input = add_graph_value(*graph, "tokens", {{64, 128}, DType::i32}, ValueKind::input);
  graph->inputs["tokens"] = input;
  plan.layouts.push_back({input, "tokens", {64, 128}, tokens, {Origin::Kind::user, "you set it"}});

  const ParameterPlan& embedding = plan.parameters.front();
  const ValueId table = plan.program.values[embedding.value].graph_value;
  const int whole = add_value(plan, embedding.shape, Sharding::replicated(2), table, MemoryCategory::collectives, 0, 1);
  const ValueId output = add_graph_value(*graph, "hidden", {{64, 512}, DType::f32}, ValueKind::result);
  const int hidden = add_value(plan, {64, 512}, Sharding::replicated(2), output, MemoryCategory::activations, 1, 2);
  const double shards = double(plan.mesh.device_count());
  const double bytes = 1024 * 512 * 4;
  const OpId gathered = add_op(*graph, "params/Embed_0/gather"), looked_up = add_op(*graph, "params/Embed_0/lookup"),
             reduced = add_op(*graph, "params/Dense_0/bias"), updated = add_op(*graph, "adam/update");
  CollectiveStart all;
  all.operands = {embedding.value};
  all.destinations = {whole};
  for (int axis = 0; axis < plan.mesh.axis_count(); ++axis) all.axes.push_back(static_cast<AxisIndex>(axis));
  all.group_size = plan.mesh.device_count();
  all.moved = {{-1, 0, {gathered, embedding.value, whole}}};
  all.payload_bytes = static_cast<int64_t>(bytes);
  all.wire_bytes = bytes * (shards - 1) / shards;
  CollectiveStart sum;
  sum.kind = InstructionKind::all_reduce;
  sum.operands = sum.destinations = {hidden};
  sum.axes.push_back(0);
  sum.group_size = plan.mesh.axis_size(0);
  sum.moved = {{-1, -1, {reduced, hidden, hidden}}};
  sum.payload_bytes = 131072;
  sum.wire_bytes = 131072 * 2 * double(sum.group_size - 1) / double(sum.group_size);
  plan.program.groups = {all.axes, sum.axes};
  const Instruction gather{Phase::forward, gathered, all},
      lookup{Phase::forward, looked_up, Compute{{whole}, {hidden}, 2e9, 0}}, reduce{Phase::backward, reduced, sum},
      update{Phase::update, updated, Compute{}};
  const Instruction gathered_all{Phase::forward, gathered, CollectiveDone{all.kind, 0, all.destinations}},
      reduced_all{Phase::backward, reduced, CollectiveDone{sum.kind, 0, sum.destinations}};
  plan.program.tasks = {{"forward", Phase::forward, {gather, gathered_all, lookup}, {embedding.value}, {hidden}},
                        {"backward", Phase::backward, {reduce, reduced_all}, {hidden}, {}},
                        {"update", Phase::update, {update}, {}, {}}};
  plan.program.sequences = {make_sequence(Purpose::train_step, {{0}, {1}, {2}}, plan.program.tasks)};
  plan.instruction_seconds.tasks = {{0.004, 0, 0.010}, {0.001, 0}, {0.002}};
  plan.simulation = simulate(plan.program, *graph, plan.mesh, Purpose::train_step, plan.instruction_seconds);
  plan.arenas[0].length = plan.instructions().size();
  for (const Task& task : plan.program.tasks) plan.arenas[0].workspace.tasks.emplace_back(task.instructions.size(), -1);
  for (int position = 0; position < plan.instructions().size(); ++position) {
    const Instruction& instruction = plan.instructions()[position];
    plan.totals.wire_bytes_per_device += instruction.wire_bytes();
    plan.totals.flops_per_device += instruction.flops();
    plan.totals.seconds_per_step += plan.seconds(position);
  }
  plan.totals.memory_total = plan.totals.device_bytes = plan.arenas[0].bytes;
  plan.totals.live_lower_bound = plan.arenas[0].bytes;
  plan.pipeline.totals = {plan.totals};
  plan.graph = graph;
  plan.hash = std::hash<std::string>()(std::to_string(plan.totals.memory_total) + "/" +
                                       std::to_string(plan.totals.wire_bytes_per_device));
  plan.planning_milliseconds = 1;
  return plan;
}

// The same plan with 50 updates a layer, its arena filled up to a share of its height at every instruction, by more and
// thinner buffers the more layers.
inline constexpr double crowded_share = 0.6;
inline Plan crowded_plan(Plan plan, int layers) {
  Program& program = plan.program;
  std::vector<Instruction>& updates = program.tasks.back().instructions;
  ArenaLayout& arena = plan.arenas[0];
  arena.length = 50 * layers;
  updates.resize(updates.size() + static_cast<size_t>(arena.length - plan.instructions().size()), updates.back());
  program.sequences = {make_sequence(Purpose::train_step, {{0}, {1}, {2}}, program.tasks)};
  plan.instruction_seconds.tasks.back().assign(updates.size(), 0.002 / double(updates.size()));
  plan.simulation = simulate(program, *plan.graph, plan.mesh, Purpose::train_step, plan.instruction_seconds);
  arena.workspace.tasks.back().assign(updates.size(), -1);
  arena.buffers.clear();
  std::ranges::fill(arena.buffer_of, -1);
  const int rows = 3 * layers, life = 5;
  const int64_t bytes = (int64_t{3} << 30) / rows / 64 * 64;
  for (int row = 0; row < rows; ++row)
    for (int first = row % life - life + 1; first < arena.length; first += life)
      arena.buffers.push_back({0, MemoryCategory::activations, bytes, row * bytes, std::max(first, 0),
                               std::min(first + life, arena.length) - 1, false});
  arena.bytes = static_cast<int64_t>(double(rows * bytes) / crowded_share);
  return plan;
}

inline PlanSource source() {
  return {[](const RunConfig& config, std::stop_token stop) { return plan(config, stop); },
          [](const RunConfig&) { return parameters(); }};
}

}  // namespace shardscope::made
