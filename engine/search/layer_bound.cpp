#include "engine/search/layer_bound.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "engine/config/strategy.h"
#include "engine/machine/chosen_stack.h"
#include "engine/search/memory_bound.h"
#include "engine/search/whole_step.h"

namespace shardscope {

namespace {

constexpr double summing_error = 1 - 1e-9;

class StrategyBound {
 public:
  StrategyBound(const LayerProfile& profile, ProfileKind kind, const Candidate& candidate, int64_t microbatches,
                const ReplicaMoves& moves, const MachinePrices& prices, ScheduleOrders& orders)
      : profile_(profile),
        kind_(kind),
        strategy_(candidate.strategy),
        microbatches_(microbatches),
        prices_(prices),
        orders_(orders) {
    if (is_of_all_sizes(kind_)) {
      const double rows = static_cast<double>(strategy_.microbatch_size) / static_cast<double>(profile.rows);
      if (kind == ProfileKind::undivided) parts_ = static_cast<double>(strategy_.tensor);
      rows_share_ = rows / parts_;
      scale_ = rows_share_ * summing_error;
      if (profile.has_experts) scale_ *= share_of_whole_rows(profile.rows_of_expert * rows);
    }
    if (moves.traffic) add_moves(moves);
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

  // Of one layer of a group, whichever it is.
  PartWork of_layer(const std::vector<PartWork>& works, size_t group) const {
    const EqualLayers& layers = profile_.layers[group];
    PartWork work = works[static_cast<size_t>(layers.kept)];
    for (int copy = 1; copy < layers.kept_count; ++copy)
      work.take_smaller(works[static_cast<size_t>(layers.kept + copy)]);
    return work;
  }

  void add_moves(const ReplicaMoves& moves) {
    const ReplicaRates& rates = moves.rates;
    stream_ = profile_.runs_here ? static_cast<size_t>(rates.stream) : profile_.is_joined.size();
    for (std::vector<double>& seconds : moved_) seconds.assign(profile_.forward.size(), 0);
    const auto end = moves.traffic->moved.end();
    for (auto first = moves.traffic->moved.begin(); first != end;) {
      const auto last = std::find_if_not(first, end, [&](const Moved& moved) { return moved.is_beside(*first); });
      moved_[first->where][static_cast<size_t>(first->part)] += summing_error * least_seconds({first, last}, rates);
      first = last;
    }
  }

  // Of what is beside each other: what moves for certain, and of all else one move of what all take, or of each
  // parameter itself or what it alone meets.
  double least_seconds(std::span<const Moved> beside, const ReplicaRates& rates) const {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const double rows = static_cast<double>(strategy_.microbatch_size * rates.replicas) /
                        static_cast<double>(strategy_.context),
                 seconds_a_row = rows * std::min(rates.gather, rates.scatter);
    // The written rule compares bytes as the graph has them, of which another stack may move half.
    const double certainty = profile_.runs_here ? 1 : 2;
    double certain = 0, taken = infinite, apart = 0;
    for (auto first = beside.begin(); first != beside.end();) {
      const StateId parameter = first->tokens.parameter;
      double itself = 0, other = infinite;
      for (; first != beside.end() && first->tokens.parameter == parameter; ++first) {
        if (rates.replicas % 2 != 0 || first->size % rates.replicas != 0) continue;
        const TokensOfParameter& tokens = first->tokens;
        const bool is_certain = certainty * first->bytes < rows * std::min(tokens.taken_bytes, tokens.other_bytes);
        (is_certain ? certain : itself) += first->bytes * of_byte(first->kind, rates);
        other = std::min(other, tokens.other_bytes * seconds_a_row);
        taken = std::min(taken, tokens.taken_bytes * seconds_a_row);
      }
      apart += std::min(itself, other);
    }
    return certain + std::min(apart, taken);
  }

  static double of_byte(InstructionKind kind, const ReplicaRates& rates) {
    return kind == InstructionKind::all_gather   ? rates.gather
           : kind == InstructionKind::all_reduce ? rates.reduce
                                                 : rates.scatter;
  }

  struct TaskSeconds {
    double clock = 0, computing = 0, ahead = 0, behind = 0, passing = 0, weight_computing = 0, weights = 0, movable = 0,
           free_wire = 0;
    std::vector<double> wire;
    double with_transfers = 0;  // computing, and before and behind it transfers of one stream
    double all() const {
      double seconds = std::max(clock, with_transfers);
      for (double stream : wire) seconds = std::max(seconds, stream);
      return seconds;
    }
  };

  // What replicas move of the layers of a chunk.
  double moved(const ChunkLayers& chunk, ReplicaTraffic::Where where) const {
    const std::vector<double>& moved = moved_[where];
    double sum = 0;
    for (size_t g = 0; g < chunk.count.size() && !moved.empty(); ++g) {
      const EqualLayers& of = profile_.layers[g];
      sum += static_cast<double>(chunk.count[g]) *
             std::min(moved[static_cast<size_t>(of.kept)], moved[static_cast<size_t>(of.kept + of.kept_count - 1)]);
    }
    return sum;
  }

  TaskSeconds of_chunk(const std::vector<PartWork>& works, const ChunkLayers& chunk, bool is_backward) const {
    TaskSeconds seconds;
    seconds.wire.assign(works.front().wire.size() + 1, 0);
    const auto add = [&](const PartWork& work, double times) {
      times *= scale_;
      seconds.clock += times * work.clock;
      seconds.computing += times * work.computing;
      seconds.passing += times * work.passing;
      seconds.weights += times * work.weights;
      seconds.movable += times * work.movable;
      seconds.free_wire += times * work.free_wire;
      for (size_t s = 0; s < work.wire.size(); ++s) seconds.wire[s] += times * work.wire[s];
    };
    for (size_t g = 0; g < chunk.count.size(); ++g) {
      if (chunk.count[g] > 0) add(of_layer(works, g), static_cast<double>(chunk.count[g]));
    }
    if (const double sum = moved(chunk, is_backward ? ReplicaTraffic::backward : ReplicaTraffic::forward); sum > 0) {
      seconds.wire[stream_] += sum;
      const bool is_alone = profile_.runs_here && !profile_.is_joined[stream_];
      // No message waits for it.
      if (is_alone) seconds.clock += sum, seconds.movable += sum;
    }
    const PartWork &before = works[static_cast<size_t>(profile_.kept)],
                   &behind = works[static_cast<size_t>(profile_.kept) + 1];
    if (chunk.has_before) add(before, 1);
    if (chunk.has_behind) add(behind, 1);
    if (kind_ == ProfileKind::own) seconds.with_transfers = with_transfers(works, chunk, is_backward);
    const int enters = is_backward ? chunk.last_group : chunk.first_group,
              leaves = is_backward ? chunk.first_group : chunk.last_group;
    if (enters >= 0) {
      seconds.ahead = scale_ * of_layer(works, static_cast<size_t>(enters)).ahead;
      // Gradients of parameters alone may come behind the message.
      const PartWork leaving = of_layer(works, static_cast<size_t>(leaves));
      seconds.behind = scale_ * std::max(leaving.behind, leaving.weights);
    }
    // Of several messages with which a chunk begins and ends nothing is claimed to wait.
    if (!(is_backward ? profile_.backward_messages : profile_.forward_messages).is_single)
      seconds.ahead = seconds.clock, seconds.passing = 0;
    if (chunk.has_before) seconds.behind += scale_ * before.late;
    if (chunk.has_behind) seconds.behind += scale_ * behind.late;
    return seconds;
  }

  // For each stream, where transfers of what the task is given come first, then computing, then transfers of what it
  // makes: of the parts up to one those that it needs, up to another what computes, and behind that those of what is
  // made.
  double with_transfers(const std::vector<PartWork>& works, const ChunkLayers& chunk, bool is_backward) const {
    std::vector<std::pair<PartWork, int64_t>> parts;
    if (chunk.has_before) parts.emplace_back(works[static_cast<size_t>(profile_.kept)], 1);
    for (size_t g = 0; g < chunk.count.size(); ++g) {
      if (chunk.count[g] > 0) parts.emplace_back(of_layer(works, g), chunk.count[g]);
    }
    if (chunk.has_behind) parts.emplace_back(works[static_cast<size_t>(profile_.kept) + 1], 1);
    if (is_backward) std::ranges::reverse(parts);
    double most = 0;
    for (size_t s = 0; s < profile_.is_joined.size(); ++s) {
      double given = 0, computed = 0, made = 0;
      for (const auto& [part, times] : parts) {
        for (int64_t i = 0; i < times; ++i) {
          made = std::max(made + part.made[s], std::max(given, computed) + part.with_made[s]);
          computed = std::max(computed + part.firm, given + part.with_given[s]);
          given += part.given[s];
        }
      }
      most = std::max({most, given, computed, made});
    }
    return scale_ * most;
  }

  double one_stage(bool coarse) const {
    const ChunkLayers& all = chunks_.front();
    const TaskSeconds of_forward = of_chunk(profile_.forward, all, false),
                      of_backward = of_chunk(profile_.backward, all, true);
    const bool has_tails = !is_of_all_sizes(kind_);
    const double forward = std::max(of_forward.all(), of_forward.clock + (has_tails ? profile_.forward_tail : 0)),
                 backward = std::max(of_backward.all(), of_backward.clock + (has_tails ? profile_.backward_tail : 0));
    double seconds = static_cast<double>(microbatches_) * (forward + backward);
    if (!coarse) seconds += of_chunk(profile_.begin, all, false).all() + of_chunk(profile_.update, all, false).all();
    return seconds + moved(all, ReplicaTraffic::update);
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
          c == 0 ? 0 : transfer((c - 1) % stages, c % stages, profile_.forward_messages.bytes * rows_share_));
      received_back.push_back(
          c + 1 == count ? 0 : transfer((c + 1) % stages, c % stages, profile_.backward_messages.bytes * rows_share_));
      if (c > 0 && chunks_[static_cast<size_t>(c)] == chunks_[static_cast<size_t>(c) - 1]) {
        forward.push_back(forward.back());
        backward.push_back(backward.back());
        weight.push_back(weight.back());
        continue;
      }
      const ChunkLayers& chunk = chunks_[static_cast<size_t>(c)];
      forward.push_back(item_of(of_chunk(profile_.forward, chunk, false), true));
      if (schedule.splits_backward) {
        TaskSeconds back = of_chunk(profile_.backward_of_inputs, chunk, true);
        back.behind = 0;
        backward.push_back(item_of(back, false));
      } else {
        backward.push_back(item_of(of_chunk(profile_.backward, chunk, true), true));
      }
      weight.push_back({.work = schedule.splits_backward ? weights_of_whole(c) : 0});
    }
    std::vector<double> begin(static_cast<size_t>(stages)), update(begin.size());
    for (size_t s = 0; s < begin.size(); ++s) {
      update[s] = moved(of_stage(s), ReplicaTraffic::update);
      if (coarse) continue;
      begin[s] = of_chunk(profile_.begin, of_stage(s), false).all();
      update[s] += of_chunk(profile_.update, of_stage(s), false).all();
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
    const TaskSeconds there = of_chunk(profile_.forward, stage, false), back = of_chunk(profile_.backward, stage, true);
    double most = 0;
    for (size_t s = 0; s < there.wire.size(); ++s) most = std::max(most, there.wire[s] + back.wire[s]);
    return static_cast<double>(microbatches_) * most;
  }

  // The least that gradients of parameters alone take: of each layer the copy that takes less.
  double weights_of_whole(int chunk) const {
    const ChunkLayers& layers = chunks_[static_cast<size_t>(chunk)];
    double seconds = 0;
    for (size_t g = 0; g < layers.count.size(); ++g) {
      const EqualLayers& of = profile_.layers[g];
      double least = std::numeric_limits<double>::infinity();
      for (int copy = 0; copy < of.kept_count; ++copy)
        least = std::min(least, profile_.backward[static_cast<size_t>(of.kept + copy)].weight_computing);
      seconds += static_cast<double>(layers.count[g]) * least;
    }
    if (layers.has_before) seconds += profile_.backward[static_cast<size_t>(profile_.kept)].weight_computing;
    if (layers.has_behind) seconds += profile_.backward[static_cast<size_t>(profile_.kept) + 1].weight_computing;
    return scale_ * seconds;
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
      if (kind_ == ProfileKind::undivided) shards = shards.times(parts_ * static_cast<double>(strategy_.expert));
      return coarse_memory_bound(profile_, chunks_, stages, in_flight(), splits_backward, shards, rows_share_);
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
  std::vector<ChunkLayers> chunks_;
  int64_t devices_inside_ = 1;                // of a device's neighbours in the next stage
  double parts_ = 1;                          // devices that share what the profile has on one
  double rows_share_ = 1, scale_ = 1;         // of the profile's rows, for each of these, and of what they take
  std::array<std::vector<double>, 3> moved_;  // s, by ReplicaTraffic::Where and part: what replicas move
  size_t stream_ = 0;                         // on which
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
