#include "engine/search/layer_profiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/compile/token_split.h"
#include "engine/compile/written_training.h"
#include "engine/config/strategy.h"
#include "engine/machine/chosen_stack.h"
#include "engine/machine/collective_seconds.h"
#include "engine/machine/host_machine.h"
#include "engine/plan/stages.h"
#include "engine/search/link_order.h"
#include "engine/search/longer_ring.h"
#include "engine/search/network_parts.h"
#include "engine/search/whole_step.h"
#include "engine/shard/lowering.h"

namespace shardscope {

namespace {

// More than any tensor degree.
constexpr double most_tensor = 65536;

// The same replicas, each of one device or ring.
Candidate without_division(Candidate candidate) {
  StrategyConfig& strategy = candidate.strategy;
  strategy.data *= strategy.expert;
  strategy.tensor = strategy.expert = 1;
  strategy.sequence_parallel = false;
  return candidate;
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

LayerProfile LayerProfiles::make_undivided(Candidate candidate) {
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
  const std::string key = fmt::format("{} {} {} {} {} {} {} {} {}", s.tensor, s.expert, s.sequence_parallel,
                                      s.recompute, microbatches_of(candidate) > 1, accumulates(candidate),
                                      has_stages(candidate, ProfileKind::coarse), s.fsdp > 1, s.zero);
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

// `strategy`: as the step has it; of the candidate, whether there are several microbatches.
LoweredStep LayerProfiles::lowered(const Candidate& candidate, StrategyConfig strategy, double parts, bool has_stages) {
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

LayerProfile LayerProfiles::make(const Candidate& candidate, ProfileKind kind) {
  StrategyConfig strategy = candidate.strategy;
  if (is_of_all_sizes(kind)) strategy.microbatch_size = rows_;
  if (kind != ProfileKind::own) {
    strategy.data = strategy.fsdp = strategy.pipeline = 1;
    strategy.zero = 0;
    strategy.order.clear();
  }
  const double microbatches = static_cast<double>(rows_);
  const double ideal_parts = kind == ProfileKind::undivided      ? microbatches * most_tensor
                             : kind == ProfileKind::proportional ? microbatches
                                                                 : 0;
  return profile_of(lowered(candidate, std::move(strategy), ideal_parts, has_stages(candidate, kind)), candidate, kind,
                    machine_);
}

ReplicaTraffic LayerProfiles::make_traffic(const Candidate& candidate) {
  StrategyConfig strategy = candidate.strategy;
  const bool is_fsdp = strategy.fsdp > 1;
  strategy.context = strategy.pipeline = 1;
  strategy.microbatch_size = rows_;  // of few, tokens would move in the place of parameters
  strategy.data = is_fsdp ? 1 : 2;
  strategy.fsdp = is_fsdp ? 2 : 1;
  strategy.order.clear();
  const LoweredStep step = lowered(candidate, std::move(strategy), 1, has_stages(candidate, ProfileKind::coarse));
  // A stack may hide what an update moves behind passes; and gradients of one microbatch may be summed before it.
  const bool counts_update = step.prices->stack().runs_here() && microbatches_of(candidate) > 1;
  return replica_traffic(step, *step.mesh.find_axis(is_fsdp ? "fsdp" : "data"), counts_update);
}

}  // namespace shardscope
