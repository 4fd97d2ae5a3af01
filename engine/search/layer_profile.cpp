#include "engine/search/layer_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "engine/compile/token_split.h"
#include "engine/compile/written_training.h"
#include "engine/config/strategy.h"
#include "engine/graph/casts.h"
#include "engine/graph/op_definition.h"
#include "engine/machine/chosen_stack.h"
#include "engine/machine/host_machine.h"
#include "engine/plan/blocking_groups.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/stages.h"
#include "engine/search/longer_ring.h"
#include "engine/search/network_parts.h"
#include "engine/search/parameter_tokens.h"
#include "engine/search/whole_step.h"
#include "engine/shard/lowering.h"
#include "engine/simulate/streams.h"

namespace shardscope {

namespace {

// More than any tensor degree.
constexpr double most_tensor = 65536;

bool splits_gradients(const Candidate& candidate) {
  return candidate.strategy.fsdp > 1 || candidate.strategy.zero >= 2;
}

// The same replicas, each of one device or ring.
Candidate without_division(Candidate candidate) {
  StrategyConfig& strategy = candidate.strategy;
  strategy.data *= strategy.expert;
  strategy.tensor = strategy.expert = 1;
  strategy.sequence_parallel = false;
  return candidate;
}

// What links see of the order of a strategy's axes: that within the units of the outermost level, where these have
// whole axes, since all ways between them are alike. Where neighbours have links of their own the order itself.
std::string order_on_links(const StrategyConfig& strategy, const std::vector<Level>& levels) {
  std::vector<std::string> order = strategy.order.empty() ? default_order() : strategy.order;
  std::erase_if(order, [&](const std::string& axis) { return degree(strategy, axis) == 1; });
  const std::string itself = fmt::format("{}", fmt::join(order, " "));
  std::string key;
  int64_t units = 1, inside = 1;
  for (const Level& level : levels) {
    if (level.kind == LevelKind::torus || level.kind == LevelKind::ring || level.count.size() > 1) return itself;
    if (level.count.empty() || &level == &levels.back()) break;
    units *= level.count.front();
    while (!order.empty() && inside * degree(strategy, order.back()) <= units) {
      inside *= degree(strategy, order.back());
      key += order.back() + " ";
      order.pop_back();
    }
    if (inside != units && !order.empty()) return itself;
  }
  return key;
}

}  // namespace

// Whether the kept layers of the network were built alone; then equal ones of these must still be equal.
bool LayerProfiles::is_of_kept_layers(const ShortenedGraph& graph) const {
  if (kept_layers_.empty() || graph.layers.back().end() != std::ssize(kept_layers_)) return false;
  return std::ranges::equal(graph.layers, layers_, [](const EqualLayers& built, const EqualLayers& layers) {
    return built.kept == layers.kept && built.kept_count == layers.kept_count;
  });
}

LayerProfiles::LayerProfiles(const RunConfig& config, const Machine& machine)
    : config_(config),
      machine_(machine),
      base_config_(with_strategy(config, {})),
      bare_config_(*without_expansion(base_config_)),
      base_(resolve_run(base_config_)) {
  rows_ = base_.microbatch_rows;
  if (!base_.errors.empty()) throw Failure(base_.errors);
  const ShortenedGraph& graph = shortened(base_, {});
  has_experts_ = shardscope::has_experts(graph.graph);
  layers_ = graph.layers;
  shares_parameters_ = shares_parameters(graph.graph, layers_.back().kept + layers_.back().kept_count);
  for (const EqualLayers& layers : layers_) {
    kept_layers_.push_back(static_cast<int>(layers.first));
    if (layers.kept_count > 1) kept_layers_.push_back(static_cast<int>(layers.end()) - 1);
  }
}

int64_t LayerProfiles::microbatches_of(const Candidate& candidate) const {
  return rows_ / candidate.strategy.replicas() / std::max<int64_t>(1, candidate.strategy.microbatch_size);
}

bool LayerProfiles::accumulates(const Candidate& candidate) const {
  return candidate.strategy.pipeline > 1 || microbatches_of(candidate) > 1;
}

// Whether its graph is as pipelines have it.
bool LayerProfiles::has_stages(const Candidate& candidate, ProfileKind kind) const {
  return candidate.strategy.pipeline > 1 && (shares_parameters_ || kind == ProfileKind::own);
}

std::string LayerProfiles::key_of(const Candidate& candidate, ProfileKind kind) const {
  if (kind == ProfileKind::undivided) return key_of(without_division(candidate), ProfileKind::proportional);
  const StrategyConfig& s = candidate.strategy;
  // First what decides the graph: profiles made in this order share it with the next.
  std::string key =
      fmt::format("{} {} {} {} {} {} {} {}", s.context, s.expert, is_of_all_sizes(kind) ? 0 : s.microbatch_size,
                  s.recompute, accumulates(candidate), has_stages(candidate, kind), s.tensor, s.sequence_parallel);
  if (is_of_all_sizes(kind)) return key;
  if (kind == ProfileKind::coarse) return key + (splits_gradients(candidate) ? " split" : "");
  return key + fmt::format(" {} {} {} {} {}", s.data, s.fsdp, s.zero, s.pipeline, order_on_links(s, machine_.levels));
}

const ShortenedGraph& LayerProfiles::shortened(const ResolvedRun& run, const TokenBlocks& blocks) {
  const std::string key = fmt::format("{} {} {} {}", run.microbatch_rows, blocks.batch, blocks.length, blocks.experts);
  {
    const std::lock_guard lock(mutex_);
    const auto at = shortened_.find(key);
    if (at != shortened_.end()) return *at->second;
  }
  ModelContext context{run.microbatch_rows, config_.deterministic, config_.seed, run.sequence_length};
  context.blocks = blocks;
  context.layers = kept_layers_;
  auto made = std::make_unique<ShortenedGraph>();
  *made = shorten(run.model->build(run.model_options, context));
  if (is_of_kept_layers(*made)) {
    made->layers = layers_;
  } else if (!layers_.empty() && made->layers.back().end() != layers_.back().end()) {
    context.layers.clear();
    *made = shorten(run.model->build(run.model_options, context));
  }
  const std::lock_guard lock(mutex_);
  return *shortened_.try_emplace(key, std::move(made)).first->second;
}

std::shared_ptr<const TrainingGraph> LayerProfiles::training(const ResolvedRun& run,
                                                             const std::set<std::string>& kept) {
  constexpr size_t most_kept = 128;
  const TokenBlocks& blocks = run.split.blocks;
  const ScheduleConfig& schedule = run.config->schedule;
  const std::string key =
      fmt::format("{} {} {} {} {} {} {} {}", run.microbatch_rows, blocks.batch, blocks.length, blocks.experts,
                  schedule.rematerialise, run.pipeline.microbatches, run.pipeline.stages, fmt::join(kept, " "));
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = trainings_.find(key); at != trainings_.end()) return at->second;
  }
  const Graph& forward = shortened(run, blocks).graph;
  const std::vector<int> layers = layers_of_chunks(run.config->pipeline, run.pipeline, forward, reference_host());
  auto made = std::make_shared<const TrainingGraph>(build_training(run, forward, layers, kept));
  const std::lock_guard lock(mutex_);
  if (trainings_.size() >= most_kept) trainings_.clear();
  return trainings_.try_emplace(key, std::move(made)).first->second;
}

std::shared_ptr<const MachinePrices> LayerProfiles::prices(const Mesh& mesh, double parts) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const MachinePrices>& known = prices_[{parts, mesh.device_count()}];
  if (!known) {
    known = std::make_shared<const MachinePrices>(parts > 0 ? ideal_machine(machine_, parts) : machine_,
                                                  mesh.device_count());
  }
  return known;
}

template <class Key, class Made, class Make>
const Made* LayerProfiles::once(Once<Key, Made>& known, const std::type_identity_t<Key>& key, const Make& make) {
  {
    const std::lock_guard lock(mutex_);
    const auto at = known.find(key);
    if (at != known.end()) return *at->second ? &**at->second : nullptr;
  }
  std::optional<Made> one;
  try {
    one = make();
  } catch (const Failure&) {
  }
  auto made = std::make_unique<std::optional<Made>>(std::move(one));
  const std::lock_guard lock(mutex_);
  const std::optional<Made>& kept = *known.try_emplace(key, std::move(made)).first->second;
  return kept ? &*kept : nullptr;
}

const LayerProfile* LayerProfiles::of(const Candidate& candidate, ProfileKind kind) {
  if (candidate.mode != LayoutMode::as_written || !config_.mesh_devices.empty()) return nullptr;
  const std::string key = fmt::format("{} of {}", key_of(candidate, kind), static_cast<int>(kind));
  return once(profiles_, key,
              [&] { return kind == ProfileKind::undivided ? make_undivided(candidate) : make(candidate, kind); });
}

std::optional<LayerProfile> LayerProfiles::make_undivided(Candidate candidate) {
  candidate = without_division(std::move(candidate));
  const int64_t blocks = candidate.strategy.context;
  int64_t fewer = std::min(blocks, profiled_ring);
  while (blocks % fewer != 0) --fewer;
  if (fewer == blocks || fewer < 2) return make(candidate, ProfileKind::undivided);
  Candidate of_fewer = candidate;
  of_fewer.strategy.context = fewer;
  const LayerProfile* ring = of(of_fewer, ProfileKind::undivided);
  if (!ring || !ring->goes_round) return make(candidate, ProfileKind::undivided);
  const auto placed = [&](int64_t count) {
    const Mesh mesh({{"context", count}});
    return prices(mesh, 0)->place(mesh, {0});
  };
  const GroupPlacement shorter = placed(fewer), longer = placed(blocks);
  double slower = 1;
  for (const InstructionKind kind :
       {InstructionKind::all_gather, InstructionKind::all_reduce, InstructionKind::reduce_scatter,
        InstructionKind::all_to_all, InstructionKind::collective_permute}) {
    const double seconds = least_seconds_per_byte(kind, shorter, machine_);
    if (seconds > 0) slower = std::min(slower, least_seconds_per_byte(kind, longer, machine_) / seconds);
  }
  return with_longer_ring(*ring, fewer, static_cast<double>(blocks / fewer), slower);
}

const ReplicaTraffic* LayerProfiles::traffic_of(const Candidate& candidate) {
  const StrategyConfig& s = candidate.strategy;
  if (candidate.mode != LayoutMode::as_written || !config_.mesh_devices.empty()) return nullptr;
  if (s.fsdp == 1 && s.expert > 1) return nullptr;
  const std::string key = fmt::format("{} {} {} {} {} {} {} {}", s.tensor, s.expert, s.sequence_parallel, s.recompute,
                                      microbatches_of(candidate) > 1, s.pipeline > 1, s.fsdp > 1, s.zero);
  return once(traffic_, key, [&] { return make_traffic(candidate); });
}

std::vector<int> LayerProfiles::chunks_of(const Candidate& candidate) {
  const StrategyConfig& s = candidate.strategy;
  const int64_t parts = s.pipeline * s.virtual_stages;
  if (std::ssize(config_.pipeline.layers) == parts)
    return {config_.pipeline.layers.begin(), config_.pipeline.layers.end()};
  const int64_t rows = s.microbatch_size * s.replicas();
  const std::vector<int>* chunks = once(chunks_, {rows, parts}, [&]() -> std::vector<int> {
    const std::vector<double>* seconds = once(layer_seconds_, rows, [&] {
      ResolvedRun run = base_;
      run.microbatch_rows = rows;
      const ShortenedGraph& of = shortened(run, {});
      return layer_seconds(of.graph, of.layers, reference_host());
    });
    if (!seconds || parts > std::ssize(*seconds)) return {};
    return balanced_layers(*seconds, static_cast<int>(parts));
  });
  return chunks ? *chunks : std::vector<int>();
}

ResolvedRun LayerProfiles::run_with(const RunConfig& config, int64_t rows) {
  ResolvedRun run = base_;
  run.config = &config;
  run.mesh = staged_mesh(config.pipeline, Mesh(config.mesh_axes));
  run.pipeline = pipeline_shape(config, *run.mesh);
  run.microbatch_rows = rows;
  run.split = token_split(config, *run.mesh, shortened(base_, {}).graph);
  return run;
}

std::shared_ptr<const TrainingGraph> LayerProfiles::whole_training(const std::string& recompute, int64_t context) {
  StrategyConfig strategy;
  strategy.microbatch_size = rows_;
  strategy.recompute = recompute;
  RunConfig config = bare_config_;
  config.strategy = std::move(strategy);
  config = expand_strategy(std::move(config));
  ResolvedRun run = run_with(config, rows_);
  run.split.blocks.length = context;
  return training(run, {});
}

struct LayerProfiles::LoweredStep {
  std::vector<EqualLayers> layers;
  RunConfig config;
  bool accumulates = false;
  std::optional<WrittenTraining> written;
  std::optional<WorkPrices> prices;
  Mesh mesh;
  Program program;

  const Graph& graph() const { return written->training->graph; }
  NetworkParts parts() const { return {graph(), layers.back().kept + layers.back().kept_count}; }
};

// `strategy`: as the step has it; of the candidate, whether there are several microbatches.
LayerProfiles::LoweredStep LayerProfiles::lowered(const Candidate& candidate, StrategyConfig strategy, double parts,
                                                  bool has_stages) {
  LoweredStep step;
  step.accumulates = accumulates(candidate);
  strategy.virtual_stages = 1;
  strategy.pipeline_schedule = "1f1b";
  step.config = bare_config_;
  step.config.strategy = std::move(strategy);
  step.config = expand_strategy(std::move(step.config));
  RunConfig& config = step.config;
  config.pipeline = {};  // its axis splits nothing
  config.schedule.microbatches = step.accumulates ? 2 : 1;
  ResolvedRun run = run_with(config, config.strategy->microbatch_size * config.strategy->replicas());
  // A graph as pipelines have it, of which one stage has all.
  if (has_stages) run.pipeline.stages = 2;
  step.layers = shortened(run, run.split.blocks).layers;
  Passes pass{{}};
  step.written = write_training(run, [&](const std::set<std::string>& kept) { return training(run, kept); }, pass, {});
  const Graph& graph = step.graph();
  step.mesh = run.mesh->whole;
  const Mesh& mesh = step.mesh;
  step.prices.emplace(prices(mesh, parts), mesh, std::optional<AxisIndex>(), chosen_stack(config.stack));
  step.prices->use_graph(graph);
  const WrittenPlacements& placements = step.written->placed.placements;
  LayoutProblem problem{graph, mesh, placements.defined, *step.prices};
  problem.microbatches = step.accumulates ? 2 : 1;
  LayoutChoice choice = fixed_choice(placements.placements, graph.values.size());
  choice.reshard_after_forward = given_up(config.sharding.zero, graph);
  step.program = lower(problem, choice).program;
  return step;
}
std::optional<LayerProfile> LayerProfiles::make(const Candidate& candidate, ProfileKind kind) {
  const bool is_ideal = is_of_all_sizes(kind), coarse = kind != ProfileKind::own;
  StrategyConfig strategy = candidate.strategy;
  if (is_ideal) strategy.microbatch_size = rows_;
  if (coarse) {
    strategy.data = strategy.fsdp = strategy.pipeline = 1;
    strategy.zero = 0;
    strategy.order.clear();
  }
  const double microbatches = static_cast<double>(rows_);
  const double ideal_parts = kind == ProfileKind::undivided      ? microbatches * most_tensor
                             : kind == ProfileKind::proportional ? microbatches
                                                                 : 0;
  const LoweredStep step = lowered(candidate, std::move(strategy), ideal_parts, has_stages(candidate, kind));
  const Graph& graph = step.graph();
  const Program& program = step.program;
  const WorkPrices& prices = *step.prices;
  InstructionTable<double> seconds = predict_seconds(program, graph, prices);
  if (is_ideal) {
    for (size_t t = 0; t < program.tasks.size(); ++t) {
      const std::vector<Instruction>& list = program.tasks[t].instructions;
      for (size_t i = 0; i < list.size(); ++i) {
        const CollectiveStart* start = list[i].as<CollectiveStart>();
        if (!start) continue;
        seconds.tasks[t][i] = payload_as_held(*start, program, prices) *
                              least_seconds_per_byte(start->kind, prices.placement(start->axes), machine_);
      }
    }
  }
  std::vector<int> levels;
  for (const AxisList& axes : program.groups) levels.push_back(prices.placement(axes).level());
  const Stack& stack = prices.stack();
  // What blocks in another stack is decided by most of what a group moves in the whole network: here nothing does.
  const Streams streams = streams_on(machine_, levels, {});
  LayerProfile profile;
  profile.layers = step.layers;
  profile.has_experts = has_experts_;
  profile.goes_round = goes_round(graph);
  profile.runs_here = stack.runs_here();
  profile.rows = is_ideal ? rows_ : candidate.strategy.microbatch_size;
  for (const Op& op : graph.ops) {
    std::vector<TensorType> operands;
    for (ValueId input : op.inputs) operands.push_back(graph.type(input));
    const std::optional<double> rows = rows_of_expert(op, operands);
    const auto shares = static_cast<double>(candidate.strategy.expert * candidate.strategy.context);
    if (rows) profile.rows_of_expert = std::min(profile.rows_of_expert, *rows / shares);
  }
  profile.kept = profile.layers.back().kept + profile.layers.back().kept_count;
  const NetworkParts parts(graph, profile.kept);
  std::vector<bool> left_out(graph.ops.size());
  const std::vector<bool> weights = weight_gradient_ops(graph);
  const bool splits_sums = is_ideal || (coarse && splits_gradients(candidate));
  for (size_t id = 0; id < graph.ops.size(); ++id) {
    const Op& op = graph.ops[id];
    // Whether backward makes a cast again follows from where arrays are, which only an own profile knows.
    if (kind != ProfileKind::own && op.phase == Phase::recompute && op.forward_op != no_id)
      left_out[id] = step.written->training->recomputed_casts.contains(graph.ops[op.forward_op].name);
    // Replicas may share what is behind the sum of their gradients; and a stack joins ops to other chains where
    // parameters are gathered.
    const bool may_be_less = weights[id] || !stack.runs_here();
    const bool is_product = op.definition->is_matrix_product();
    if (splits_sums && may_be_less && !is_product) left_out[id] = true;
    // Kernels of another stack's attention are not those of an ideal machine.
    const bool attends = op.definition->work_kind() == "attention" || op.place.part == LayerPart::attention;
    if (is_ideal && !stack.runs_here() && attends && (!is_product || op.definition->work_kind() == "attention"))
      left_out[id] = true;
  }
  const bool overlaps = step.config.schedule.overlap != OverlapMode::off;
  for (size_t stream = 0; stream < streams.names.size(); ++stream)
    profile.is_joined.push_back(overlaps && streams.find(Streams::compute, static_cast<int>(stream)));
  TaskClock clock(program, graph, parts, streams, overlaps, weights, left_out, coarse, profile.kept);
  const std::vector<PartWork> nothing(static_cast<size_t>(profile.kept) + 2, clock.no_work());
  profile.backward_of_inputs = nothing;
  profile.begin = profile.forward = profile.backward = profile.update = nothing;
  std::vector<bool> is_seen(program.tasks.size());
  for (const TaskRun& task_run : program.main().runs) {
    if (!task_run.is_first) continue;
    const Task& task = program.tasks[task_run.task];
    std::vector<double>& took = seconds.tasks[static_cast<size_t>(task_run.task)];
    if (task.name == "forward") {
      profile.forward = clock.run(task, took, &profile.forward_tail, &profile.forward_messages);
    } else if (task.name == "backward") {
      profile.backward = clock.run(task, took, &profile.backward_tail, &profile.backward_messages);
      if (candidate.strategy.pipeline > 1 || coarse)
        profile.backward_of_inputs = clock.run(task, took, nullptr, nullptr, true);
    } else if (task.name == "update" || task.name == "begin") {
      // A stack may hide what an update moves behind passes.
      for (size_t i = 0; i < took.size() && !stack.runs_here(); ++i) {
        if (task.instructions[i].as<CollectiveStart>()) took[i] = 0;
      }
      std::vector<PartWork>& works = task.name == "update" ? profile.update : profile.begin;
      works = clock.run(task, took);
      // What one layer waits for may go on beside the others.
      for (PartWork& work : works) work.clock = work.computing;
    }
  }
  if (stack.overlap.pipeline || !stack.runs_here())
    profile.forward_messages.bytes = profile.backward_messages.bytes = 0;
  profile.memory =
      memory_of_layers(program, graph, parts, stack, prices.machine().threads_per_rank(), step.accumulates, coarse);
  return profile;
}

std::optional<ReplicaTraffic> LayerProfiles::make_traffic(const Candidate& candidate) {
  StrategyConfig strategy = candidate.strategy;
  const bool is_fsdp = strategy.fsdp > 1;
  strategy.context = strategy.pipeline = 1;
  strategy.microbatch_size = rows_;  // of few, tokens would move in the place of parameters
  strategy.data = is_fsdp ? 1 : 2;
  strategy.fsdp = is_fsdp ? 2 : 1;
  strategy.order.clear();
  const LoweredStep step = lowered(candidate, std::move(strategy), 1, candidate.strategy.pipeline > 1);
  const Program& program = step.program;
  const NetworkParts parts = step.parts();
  const std::vector<bool> of_states = values_of_states(step.graph());
  const Mesh& mesh = step.mesh;
  AxisList replicas;
  replicas.push_back(*mesh.find_axis(is_fsdp ? "fsdp" : "data"));
  // A stack may hide what an update moves behind passes; and gradients of one microbatch may be summed before it.
  const bool counts_update = step.prices->stack().runs_here() && microbatches_of(candidate) > 1;
  const ParameterTokens tokens(step.graph(), of_states, step.prices->types());
  ReplicaTraffic traffic;
  for (const Task& task : program.tasks) {
    const auto where = task.name == "forward"    ? ReplicaTraffic::forward
                       : task.name == "backward" ? ReplicaTraffic::backward
                                                 : ReplicaTraffic::update;
    if (where == ReplicaTraffic::update && (task.name != "update" || !counts_update)) continue;
    for (const Instruction& instruction : task.instructions) {
      const CollectiveStart* start = instruction.as<CollectiveStart>();
      const int part = parts.of_op(instruction.op);
      if (!start || is_bucket(*start) || start->axes != replicas || part < 0 || part >= parts.kept()) continue;
      const MovedKind kind = moved_kind(*start, task.phase, program, step.graph(), of_states);
      const bool is_gather = start->kind == InstructionKind::all_gather && kind == MovedKind::parameters,
                 is_sum = start->kind == InstructionKind::reduce_scatter && kind == MovedKind::gradients,
                 is_whole_sum = start->kind == InstructionKind::all_reduce && kind == MovedKind::gradients &&
                                where == ReplicaTraffic::update;
      const double payload = payload_as_held(*start, program, *step.prices);
      if (is_whole_sum) traffic.moved.push_back({part, where, start->kind, 0, payload});
      if (!is_gather && !is_sum) continue;
      const Shape &from = program.values[static_cast<size_t>(start->operands.front())].local_shape,
                  &to = program.values[static_cast<size_t>(start->destinations.front())].local_shape;
      const size_t split = static_cast<size_t>(std::ranges::mismatch(from, to).in1 - from.begin());
      if (split == from.size()) continue;
      ReplicaTraffic::Moved& moved = traffic.moved.emplace_back();
      moved = {part, where, start->kind, std::max(from[split], to[split]), payload};
      const ValueId value = program.values[static_cast<size_t>(start->operands.front())].graph_value;
      if (where == ReplicaTraffic::update) continue;
      moved.tokens = tokens.of(value);
      const auto rows = static_cast<double>(mesh.device_count() * rows_);
      moved.tokens.taken_bytes /= rows;
      moved.tokens.other_bytes /= rows;
    }
  }
  std::ranges::stable_sort(traffic.moved, {}, [](const ReplicaTraffic::Moved& moved) {
    return std::tuple(moved.where, moved.part, moved.tokens.taken, moved.tokens.parameter);
  });
  return traffic;
}

}  // namespace shardscope
