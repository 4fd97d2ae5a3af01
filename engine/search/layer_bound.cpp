#include "engine/search/layer_bound.h"

#include <algorithm>
#include <limits>

#include "engine/config/strategy.h"
#include "engine/machine/chosen_stack.h"
#include "engine/search/memory_bound.h"

namespace shardscope {

namespace {

class StrategyBound {
 public:
  StrategyBound(const LayerProfile& profile, ProfileKind kind, const Candidate& candidate, int64_t microbatches,
                const ReplicaMoves& moves, const MachinePrices& prices, ScheduleOrders& orders)
      : profile_(profile),
        kind_(kind),
        strategy_(candidate.strategy),
        microbatches_(microbatches),
        prices_(prices),
        orders_(orders),
        seconds_(profile, kind, candidate.strategy, moves) {
    const std::vector<std::string>& order = strategy_.order.empty() ? default_order() : strategy_.order;
    for (size_t i = order.size(); i-- > 0 && order[i] != "pipeline";) devices_inside_ *= degree(strategy_, order[i]);
  }

  Bound run(const std::vector<int>& chunks, double limit) {
    const bool coarse = kind_ != ProfileKind::own;
    const auto stages = static_cast<size_t>(strategy_.pipeline);
    chunks_ = cut_layers(profile_.layers, chunks);
    Bound bound;
    bound.memory_bytes = memory(coarse);
    if (bound.memory_bytes > limit) return bound;
    bound.seconds = stages == 1 ? one_stage(coarse) : pipeline(coarse);
    if (!coarse)
      bound.likely_bytes = std::max(bound.memory_bytes, likely_memory(profile_, chunks_, stages, in_flight()));
    return bound;
  }

 private:
  using Moved = ReplicaTraffic::Moved;

  double one_stage(bool coarse) const {
    const ChunkLayers& all = chunks_.front();
    const TaskSeconds of_forward = seconds_.of(profile_.forward, all, false),
                      of_backward = seconds_.of(profile_.backward, all, true);
    const bool has_tails = !is_of_all_sizes(kind_);
    const double forward = std::max(of_forward.all(), of_forward.clock + (has_tails ? profile_.forward_tail : 0)),
                 backward = std::max(of_backward.all(), of_backward.clock + (has_tails ? profile_.backward_tail : 0));
    double seconds = static_cast<double>(microbatches_) * (forward + backward);
    if (!coarse)
      seconds += seconds_.of(profile_.begin, all, false).all() + seconds_.of(profile_.update, all, false).all();
    return seconds + seconds_.moved(all, ReplicaTraffic::update);
  }

  ChunkLayers of_stage(size_t stage) const {
    return layers_of_stage(chunks_, stage, static_cast<size_t>(strategy_.pipeline));
  }

  struct Item {
    double work = 0, computing = 0, ahead = 0, behind = 0, movable = 0, apart = 0;
    double passing() const { return std::max(0.0, work - ahead - behind - movable); }
    // With a transfer of so many seconds.
    double with(double transfer) const { return std::max(work, std::max(computing, apart) + transfer); }
  };

  // `with_streams`: the task is one in the plan.
  Item item_of(const TaskSeconds& of, bool with_streams) const {
    const double work = with_streams ? of.all() : of.clock;
    if (is_of_all_sizes(kind_))
      return {.work = work, .computing = of.computing, .ahead = std::max(0.0, work - of.passing)};
    return {.work = work,
            .computing = of.computing,
            .ahead = of.ahead + work - of.clock,
            .behind = of.behind,
            .movable = of.movable,
            .apart = of.clock - of.free_wire};
  }

  const PipelineSchedule& schedule() const { return schedule_of(strategy_); }
  PipelineShape shape() const { return shape_of(strategy_, microbatches_); }

  // Of the devices of two stages that have the first place there.
  double transfer(int from, int to, double bytes) const {
    if (bytes <= 0 || from == to) return 0;
    return prices_.transfer_seconds(static_cast<int>(from * devices_inside_), static_cast<int>(to * devices_inside_),
                                    bytes);
  }

  double pipeline(bool coarse) {
    const int stages = static_cast<int>(strategy_.pipeline), count = static_cast<int>(chunks_.size());
    const PipelineSchedule& schedule = this->schedule();
    std::vector<Item> forward, backward, weight;  // by chunk
    std::vector<double> received, received_back;
    for (int c = 0; c < count; ++c) {
      received.push_back(
          c == 0 ? 0 : transfer((c - 1) % stages, c % stages, profile_.forward_messages.bytes * seconds_.rows_share()));
      received_back.push_back(c + 1 == count ? 0
                                             : transfer((c + 1) % stages, c % stages,
                                                        profile_.backward_messages.bytes * seconds_.rows_share()));
      if (c > 0 && chunks_[static_cast<size_t>(c)] == chunks_[static_cast<size_t>(c) - 1]) {
        forward.push_back(forward.back());
        backward.push_back(backward.back());
        weight.push_back(weight.back());
        continue;
      }
      const ChunkLayers& chunk = chunks_[static_cast<size_t>(c)];
      forward.push_back(item_of(seconds_.of(profile_.forward, chunk, false), true));
      if (schedule.splits_backward) {
        TaskSeconds back = seconds_.of(profile_.backward_of_inputs, chunk, true);
        back.behind = 0;
        backward.push_back(item_of(back, false));
      } else {
        backward.push_back(item_of(seconds_.of(profile_.backward, chunk, true), true));
      }
      weight.push_back({.work = schedule.splits_backward ? seconds_.weights(chunk) : 0});
    }
    std::vector<double> begin(static_cast<size_t>(stages)), update(begin.size());
    for (size_t s = 0; s < begin.size(); ++s) {
      update[s] = seconds_.moved(of_stage(s), ReplicaTraffic::update);
      if (coarse) continue;
      begin[s] = seconds_.of(profile_.begin, of_stage(s), false).all();
      update[s] += seconds_.of(profile_.update, of_stage(s), false).all();
    }
    const int64_t items = 2 * microbatches_ * count;
    std::vector<double> ends = !is_of_all_sizes(kind_) && items <= simulated_items
                                   ? simulated(forward, backward, weight, received, received_back, begin)
                                   : summed(forward, backward, weight, received, received_back, begin);
    if (schedule.splits_backward) {
      for (size_t s = 0; s < ends.size(); ++s) ends[s] = std::max(ends[s], begin[s] + transferred(of_stage(s)));
    }
    double seconds = 0;
    for (size_t s = 0; s < ends.size(); ++s) seconds = std::max(seconds, ends[s] + update[s]);
    return seconds;
  }

  // By the busiest stream, for all microbatches.
  double transferred(const ChunkLayers& stage) const {
    const TaskSeconds there = seconds_.of(profile_.forward, stage, false),
                      back = seconds_.of(profile_.backward, stage, true);
    double most = 0;
    for (size_t s = 0; s < there.wire.size(); ++s) most = std::max(most, there.wire[s] + back.wire[s]);
    return static_cast<double>(microbatches_) * most;
  }

  std::vector<double> summed(const std::vector<Item>& forward, const std::vector<Item>& backward,
                             const std::vector<Item>& weight, const std::vector<double>& received,
                             const std::vector<double>& received_back, const std::vector<double>& begin) const {
    const size_t stages = begin.size();
    const bool ends_with_message = !schedule().splits_backward;
    std::vector<double> ends;
    double ahead = 0, after = 0;  // until the first message is sent here; the last from here
    for (size_t s = 0; s < stages; ++s) {
      double work = 0;
      for (size_t c = s; c < forward.size(); c += stages)
        work += forward[c].with(received[c]) + backward[c].with(received_back[c]) + weight[c].work;
      const double start = std::max(begin[s], begin[0] + ahead - (s > 0 ? forward[s].ahead + forward[s].movable : 0));
      ends.push_back(start + static_cast<double>(microbatches_) * work);
      // The last backward of this stage still has to pass those before it.
      if (ends_with_message)
        ends[0] = std::max(ends[0], ends.back() - backward[s].behind - backward[s].movable + after);
      ahead += received[s] + forward[s].passing();
      after += backward[s].passing() + received_back[s];
    }
    return ends;
  }

  std::vector<double> simulated(const std::vector<Item>& forward, const std::vector<Item>& backward,
                                const std::vector<Item>& weight, const std::vector<double>& received,
                                const std::vector<double>& received_back, const std::vector<double>& begin) {
    const size_t stages = begin.size(), count = forward.size(), microbatches = static_cast<size_t>(microbatches_);
    const std::shared_ptr<const PipelineOrder> kept_order = orders_.order(schedule(), shape());
    const PipelineOrder& order = *kept_order;
    std::vector<double> sent(count * microbatches, -1), sent_back(count * microbatches, -1), time = begin;
    std::vector<size_t> at(stages);
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t s = 0; s < stages; ++s) {
        while (at[s] < order[s].size()) {
          const WorkItem& item = order[s][at[s]];
          const size_t c = static_cast<size_t>(item.chunk) * stages + s, m = static_cast<size_t>(item.microbatch);
          if (item.work == Work::backward_weight) {
            time[s] += weight[c].work;
          } else {
            const bool is_forward = item.work == Work::forward;
            const bool is_first = is_forward ? c == 0 : c + 1 == count;
            const std::vector<double>& from = is_forward ? sent : sent_back;
            const double message = is_first ? 0 : from[(is_forward ? c - 1 : c + 1) * microbatches + m];
            if (message < 0) break;
            const Item& work = (is_forward ? forward : backward)[c];
            const double transfer = is_forward ? received[c] : received_back[c];
            const double has = std::max(time[s], message) + transfer;
            const double sends = has + work.passing();
            time[s] = std::max(time[s] + work.with(transfer), sends + std::min(work.behind, work.work));
            (is_forward ? sent : sent_back)[c * microbatches + m] = sends;
          }
          ++at[s];
          moved = true;
        }
      }
    }
    return time;
  }

  double memory(bool coarse) {
    const auto stages = static_cast<size_t>(strategy_.pipeline);
    const bool splits_backward = stages > 1 && schedule().splits_backward;
    if (coarse) {
      StateShards shards = state_shards(strategy_);
      if (kind_ == ProfileKind::undivided)
        shards = shards.times(seconds_.devices() * static_cast<double>(strategy_.expert));
      return coarse_memory_bound(profile_, chunks_, stages, in_flight(), splits_backward, shards,
                                 seconds_.rows_share());
    }
    return memory_bound(profile_, chunks_, stages, in_flight(), splits_backward);
  }

  InFlight in_flight() {
    const std::vector<int> one(chunks_.size(), 1);
    if (strategy_.pipeline == 1) return {one, one, std::vector<int>(chunks_.size())};
    return *orders_.in_flight(schedule(), shape());
  }

  const LayerProfile& profile_;
  ProfileKind kind_;
  const StrategyConfig& strategy_;
  int64_t microbatches_;
  const MachinePrices& prices_;
  ScheduleOrders& orders_;
  ChunkSeconds seconds_;
  std::vector<ChunkLayers> chunks_;
  int64_t devices_inside_ = 1;  // of a device's neighbours in the next stage
};

}  // namespace

Bound layer_bound(const LayerProfile& profile, ProfileKind kind, const Candidate& candidate,
                  const std::vector<int>& chunks, int64_t microbatches, const ReplicaMoves& moves, double limit,
                  const MachinePrices& prices, ScheduleOrders& orders) {
  return StrategyBound(profile, kind, candidate, microbatches, moves, prices, orders).run(chunks, limit);
}

LayerBounds::LayerBounds(const PlanRequest& request, int64_t devices)
    : profiles_(request.config, request.machine),
      prices_(request.machine, static_cast<int>(devices)),
      stack_memory_(chosen_stack(request.config.stack).memory) {}

ReplicaRates LayerBounds::replica_rates(const StrategyConfig& s) {
  const std::vector<std::string>& order = s.order.empty() ? default_order() : s.order;
  std::vector<MeshAxis> axes;
  std::vector<AxisIndex> replicas;
  std::vector<int64_t> key;
  for (const std::string& axis : order) {
    const int64_t size = degree(s, axis);
    if (size == 1) continue;
    const bool is_in = s.fsdp > 1 ? axis == "fsdp" : axis == "data" || axis == "context";
    if (is_in) replicas.push_back(static_cast<AxisIndex>(axes.size()));
    axes.push_back({axis, size});
    key.push_back(is_in ? -size : size);
  }
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = rates_.find(key); known != rates_.end()) return known->second;
  }
  const GroupPlacement placement = prices_.place(Mesh(axes), replicas);
  ReplicaRates rates;
  rates.gather = least_seconds_per_byte(InstructionKind::all_gather, placement, prices_.machine());
  rates.reduce = least_seconds_per_byte(InstructionKind::all_reduce, placement, prices_.machine());
  rates.scatter = least_seconds_per_byte(InstructionKind::reduce_scatter, placement, prices_.machine());
  rates.replicas = s.fsdp > 1 ? s.fsdp : s.data * s.context;
  rates.stream = std::max(placement.level(), 0) + 1;
  const std::lock_guard lock(mutex_);
  return rates_.try_emplace(key, rates).first->second;
}

Bound LayerBounds::of(const Candidate& candidate, ProfileKind kind, double limit, double enough) {
  const LayerProfile* profile = profiles_.of(candidate, kind);
  if (!profile) return {};
  const StrategyConfig& s = candidate.strategy;
  const std::vector<int> chunks = s.pipeline * s.virtual_stages == 1
                                      ? std::vector<int>{static_cast<int>(profile->layers.back().end())}
                                      : profiles_.chunks_of(candidate);
  if (chunks.empty()) return {};
  const int64_t microbatches = profiles_.microbatches_of(candidate);
  const auto bound_with = [&](const ReplicaMoves& moves) {
    return layer_bound(*profile, kind, candidate, chunks, microbatches, moves, limit, prices_, orders_);
  };
  Bound bound = bound_with({});
  const bool lacks_moves = kind == ProfileKind::proportional || kind == ProfileKind::coarse;
  if (lacks_moves && bound.memory_bytes <= limit && bound.seconds < enough) {
    if (const ReplicaTraffic* traffic = profiles_.traffic_of(candidate))
      bound = bound_with({traffic, replica_rates(s)});
  }
  bound.memory_bytes = with_allocator(bound.memory_bytes, stack_memory_);
  if (kind == ProfileKind::own) bound.likely_bytes = with_allocator(bound.likely_bytes, stack_memory_);
  return bound;
}

}  // namespace shardscope
