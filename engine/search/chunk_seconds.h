#pragma once

#include <array>
#include <span>
#include <vector>

#include "engine/search/bounds.h"
#include "engine/search/chunk_layers.h"
#include "engine/search/layer_profile.h"
#include "engine/search/replica_traffic.h"

namespace shardscope {

// What an all-gather, a reduce-scatter and an all-reduce among the replicas of a candidate take at least.
struct ReplicaRates {
  double gather = 0, scatter = 0, reduce = 0;  // s, each byte of payload
  int64_t replicas = 1;
  int stream = 0;
};
struct ReplicaMoves {
  const ReplicaTraffic* traffic = nullptr;
  ReplicaRates rates;
};

// One run of a task of a model chunk, in s; as PartWork says of a part.
struct TaskSeconds {
  double clock = 0, computing = 0, ahead = 0, behind = 0, passing = 0, weights = 0, movable = 0, free_wire = 0;
  std::vector<double> wire;
  double with_transfers = 0;  // computing, and before and behind it transfers of one stream
  double all() const {
    double seconds = std::max(clock, with_transfers);
    for (double stream : wire) seconds = std::max(seconds, stream);
    return seconds;
  }
};

// What tasks of a candidate's chunks take at least, by a profile of its layers: layer_bound.h has the proofs.
class ChunkSeconds {
 public:
  ChunkSeconds(const LayerProfile& profile, ProfileKind kind, const StrategyConfig& strategy,
               const ReplicaMoves& moves);

  // `works`: of the task, by part of the profile.
  TaskSeconds of(const std::vector<PartWork>& works, const ChunkLayers& chunk, bool is_backward) const;
  // What replicas move of the layers of a chunk.
  double moved(const ChunkLayers& chunk, ReplicaTraffic::Where where) const;
  // The least that gradients of parameters alone take, by computing or by the busiest stream of what moves them: of
  // each layer the copy that takes less.
  double weights(const ChunkLayers& chunk) const;

  double devices() const { return devices_; }        // that share what the profile has on one
  double rows_share() const { return rows_share_; }  // of the profile's rows, for each of these

 private:
  using Moved = ReplicaTraffic::Moved;

  PartWork of_layer(const std::vector<PartWork>& works, size_t group) const;
  void add_moves(const ReplicaMoves& moves);
  double least_seconds(std::span<const Moved> beside, const ReplicaRates& rates) const;
  double with_transfers(const std::vector<PartWork>& works, const ChunkLayers& chunk, bool is_backward) const;

  const LayerProfile& profile_;
  ProfileKind kind_;
  const StrategyConfig& strategy_;
  double devices_ = 1, rows_share_ = 1;
  double scale_ = 1;                          // of what the profile's rows take
  std::array<std::vector<double>, 3> moved_;  // s, by ReplicaTraffic::Where and part: what replicas move
  size_t stream_ = 0;                         // on which
};

}  // namespace shardscope
