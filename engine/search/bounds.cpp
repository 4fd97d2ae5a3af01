#include "engine/search/bounds.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>

#include "engine/config/strategy.h"
#include "engine/machine/chosen_stack.h"
#include "engine/search/layer_profiles.h"
#include "engine/search/memory_bound.h"
#include "engine/search/network_parts.h"

namespace shardscope {

namespace {

// Most blocks of the length for which a step is priced; more by these.
constexpr int64_t most_blocks = 16;
constexpr double same_steps = 1e-9;
constexpr double rounding = 1 - 1e-9;

// Blocks of a causal ring leave out the scores above the diagonal.
constexpr double seen_by_ring = 0.5;

}  // namespace

Bounds::Bounds(const PlanRequest& request, int64_t devices) : devices_(devices) {
  LayerProfiles profiles(request.config, request.machine);
  const Stack stack = chosen_stack(request.config.stack);
  stack_memory_ = stack.memory;
  rows_ = profiles.rows();
  const double parts = static_cast<double>(rows_) * static_cast<double>(devices);
  const auto prices =
      std::make_shared<const MachinePrices>(ideal_machine(request.machine, parts), static_cast<int>(devices));
  const ModelLimits limits = model_limits(request.config);
  for (const std::string& policy : limits.recompute) {
    std::map<int64_t, WholeStepWork>& of_policy = seconds_[policy];
    for (int64_t context = 1; context <= most_blocks; context *= 2) {
      if (context > 1 && (limits.context.empty() || !divides_all(context, limits.context))) break;
      const std::shared_ptr<const TrainingGraph> training = profiles.whole_training(policy, context);
      WorkPrices of_graph(prices, Mesh(), {}, stack);
      of_graph.use_graph(training->graph);
      of_policy[context] = step_seconds(*training, profiles.layers(), of_graph);
    }
  }
  add_states(*profiles.whole_training("none", 1), profiles.layers(), stack);
}

void Bounds::add_states(const TrainingGraph& training, const std::vector<EqualLayers>& layers, const Stack& stack) {
  const Graph& graph = training.graph;
  const EqualLayers& last = layers.back();
  const NetworkParts parts(graph, last.kept + last.kept_count);
  std::vector<double> times(static_cast<size_t>(parts.count()), 1);
  for (const EqualLayers& equal : layers)
    times[static_cast<size_t>(equal.kept)] = static_cast<double>(equal.count - equal.kept_count + 1);
  for (const State& state : graph.states) {
    const std::vector<std::string>* logical = &graph.values[state.before].logical;
    if (state.follows != no_id &&
        graph.type(state.before).shape == graph.type(graph.states[state.follows].before).shape)
      logical = &graph.values[graph.states[state.follows].before].logical;
    const auto has = [&](const char* name) { return std::ranges::find(*logical, name) != logical->end(); };
    const bool tensor = has("heads") || has("kv_heads") || has("mlp") || has("vocab"), expert = has("experts");
    StateBytes& bytes = state.is_of_optimizer() ? optimizer_ : parameters_;
    double StateBytes::*part = tensor && expert ? &StateBytes::by_both
                               : tensor         ? &StateBytes::by_tensor
                               : expert         ? &StateBytes::by_expert
                                                : &StateBytes::plain;
    const TensorType& type = graph.type(state.before);
    const double count = times[static_cast<size_t>(parts.of_value(state.before))];
    bytes.*part += count * static_cast<double>(type.bytes());
    if (state.trainable)
      gradient_copies_.*part += count * static_cast<double>(element_count(type.shape)) * stack.memory.gradient_bytes;
  }
}

WholeStepWork Bounds::work_of(const std::string& recompute, int64_t context) const {
  // Another policy recomputes something, and nothing less than none.
  const auto known = seconds_.find(recompute);
  const std::map<int64_t, WholeStepWork>& of_policy = known == seconds_.end() ? seconds_.at("none") : known->second;
  const auto behind = of_policy.upper_bound(context), at = std::prev(behind);
  WholeStepWork work = at->second;
  if (at->first == context) return work;
  work.of_attention = std::min(work.of_attention, of_policy.begin()->second.of_attention * seen_by_ring);
  if (of_policy.size() < 4) return work;
  // Where each step round the ring does the same, further steps do.
  const double last = at->second.streamed, half = std::prev(at)->second.streamed,
               quarter = std::prev(at, 2)->second.streamed;
  const double steps = static_cast<double>(at->first - std::prev(at)->first);
  if (behind == of_policy.end() && std::abs(last - half - 2 * (half - quarter)) <= same_steps * last)
    work.streamed += (last - half) / steps * static_cast<double>(context - at->first) * (1 - same_steps);
  return work;
}

Bound Bounds::of(const Candidate& candidate) const {
  const StrategyConfig& s = candidate.strategy;
  Bound bound;
  const WholeStepWork work = work_of(s.recompute, s.context);
  const double stages = static_cast<double>(s.pipeline);
  const double rows = work.rows_of_expert / static_cast<double>(rows_) *
                      static_cast<double>(std::max<int64_t>(1, s.microbatch_size)) / static_cast<double>(s.context);
  bound.seconds = (work.products + work.of_attention + work.of_experts * share_of_whole_rows(rows) + work.streamed) *
                  rounding / static_cast<double>(devices_);
  const double tensor = static_cast<double>(s.tensor), expert = static_cast<double>(s.expert);
  const StateShards shards = state_shards(s);
  // fastest may lay out nothing else: what is stored is as pinned.
  const double copies = gradient_copies_.split(tensor, expert) / shards.parameters;
  const double states =
      parameters_.split(tensor, expert) / shards.parameters + optimizer_.split(tensor, expert) / shards.optimizer;
  bound.memory_bytes = with_allocator((states + copies) / stages, stack_memory_);
  return bound;
}

}  // namespace shardscope
