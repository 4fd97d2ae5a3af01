#include "engine/search/chunk_seconds.h"

#include <algorithm>
#include <limits>

#include "engine/search/whole_step.h"

namespace shardscope {

namespace {

constexpr double summing_error = 1 - 1e-9;

double of_byte(InstructionKind kind, const ReplicaRates& rates) {
  return kind == InstructionKind::all_gather   ? rates.gather
         : kind == InstructionKind::all_reduce ? rates.reduce
                                               : rates.scatter;
}

}  // namespace

ChunkSeconds::ChunkSeconds(const LayerProfile& profile, ProfileKind kind, const StrategyConfig& strategy,
                           const ReplicaMoves& moves)
    : profile_(profile), kind_(kind), strategy_(strategy) {
  if (is_of_all_sizes(kind_)) {
    const double rows = static_cast<double>(strategy_.microbatch_size) / static_cast<double>(profile.rows);
    if (kind == ProfileKind::undivided) devices_ = static_cast<double>(strategy_.tensor);
    rows_share_ = rows / devices_;
    scale_ = rows_share_ * summing_error;
    scale_ *= share_of_whole_rows(profile.rows_of_expert * rows);
  }
  if (moves.traffic) add_moves(moves);
}

// Of one layer of a group, whichever it is.
PartWork ChunkSeconds::of_layer(const std::vector<PartWork>& works, size_t group) const {
  const EqualLayers& layers = profile_.layers[group];
  PartWork work = works[static_cast<size_t>(layers.kept)];
  for (int copy = 1; copy < layers.kept_count; ++copy)
    work.take_smaller(works[static_cast<size_t>(layers.kept + copy)]);
  return work;
}

void ChunkSeconds::add_moves(const ReplicaMoves& moves) {
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
double ChunkSeconds::least_seconds(std::span<const Moved> beside, const ReplicaRates& rates) const {
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

double ChunkSeconds::moved(const ChunkLayers& chunk, ReplicaTraffic::Where where) const {
  const std::vector<double>& moved = moved_[where];
  double sum = 0;
  for (size_t g = 0; g < chunk.count.size() && !moved.empty(); ++g) {
    const EqualLayers& of = profile_.layers[g];
    sum += static_cast<double>(chunk.count[g]) *
           std::min(moved[static_cast<size_t>(of.kept)], moved[static_cast<size_t>(of.kept + of.kept_count - 1)]);
  }
  return sum;
}

TaskSeconds ChunkSeconds::of(const std::vector<PartWork>& works, const ChunkLayers& chunk, bool is_backward) const {
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
double ChunkSeconds::with_transfers(const std::vector<PartWork>& works, const ChunkLayers& chunk,
                                    bool is_backward) const {
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

double ChunkSeconds::weights(const ChunkLayers& layers) const {
  double computing = 0;
  std::vector<double> wire(profile_.is_joined.size());
  const auto add = [&](const PartWork& work, double times) {
    computing += times * work.weight_computing;
    for (size_t s = 0; s < work.weight_wire.size(); ++s) wire[s] += times * work.weight_wire[s];
  };
  for (size_t g = 0; g < layers.count.size(); ++g)
    add(of_layer(profile_.backward, g), static_cast<double>(layers.count[g]));
  if (layers.has_before) add(profile_.backward[static_cast<size_t>(profile_.kept)], 1);
  if (layers.has_behind) add(profile_.backward[static_cast<size_t>(profile_.kept) + 1], 1);
  return scale_ * std::max(computing, *std::ranges::max_element(wire));
}

}  // namespace shardscope
