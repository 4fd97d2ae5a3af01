#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/compile/training_graph.h"
#include "engine/graph/repeated_layers.h"
#include "engine/machine/machine_prices.h"
#include "engine/search/candidates.h"
#include "engine/search/layer_profile.h"
#include "engine/search/lowered_step.h"
#include "engine/search/replica_traffic.h"

namespace shardscope {

// The profiles of a request, each made once. What is not known of a candidate stays without: a strategy that cannot be.
class LayerProfiles {
 public:
  LayerProfiles(const RunConfig& config, const Machine& machine);

  // What decides a profile.
  std::string key_of(const Candidate& candidate, ProfileKind kind) const;
  // Null where there is none. For several threads at a time.
  const LayerProfile* of(const Candidate& candidate, ProfileKind kind);
  // As two replicas, which are enough to see what is split, move it; likewise.
  const ReplicaTraffic* traffic_of(const Candidate& candidate);

  // Of one device that has the whole batch at once, with the length in so many blocks.
  std::shared_ptr<const TrainingGraph> whole_training(const std::string& recompute, int64_t context);
  const std::vector<EqualLayers>& layers() const { return layers_; }
  int64_t rows() const { return rows_; }  // of a batch

  // Layers of each model chunk of a candidate's pipeline; empty where not known.
  std::vector<int> chunks_of(const Candidate& candidate);
  int64_t microbatches_of(const Candidate& candidate) const;  // of one replica
  bool accumulates(const Candidate& candidate) const;         // gradients, over microbatches or for an update apart

 private:
  bool is_of_kept_layers(const ShortenedGraph& graph) const;
  const ShortenedGraph& shortened(const ResolvedRun& run, const TokenBlocks& blocks);
  std::shared_ptr<const TrainingGraph> training(const ResolvedRun& run, const std::set<std::string>& kept);
  // Of the machine where `parts` is 0; else of an ideal one for so many (whole_step.h).
  std::shared_ptr<const MachinePrices> prices(const Mesh& mesh, double parts);
  ResolvedRun run_with(const RunConfig& config, int64_t rows);
  bool has_stages(const Candidate& candidate, ProfileKind kind) const;
  LoweredStep lowered(const Candidate& candidate, StrategyConfig strategy, double parts, bool has_stages);
  LayerProfile make(const Candidate& candidate, ProfileKind kind);
  // Of one device of each replica and ring, by a shorter ring where that says enough.
  LayerProfile make_undivided(Candidate candidate);
  ReplicaTraffic make_traffic(const Candidate& candidate);
  // What was made for a key; nothing where it cannot be.
  template <class Key, class Made>
  using Once = std::map<Key, std::unique_ptr<std::optional<Made>>>;
  template <class Key, class Made, class Make>
  const Made* once(Once<Key, Made>& known, const std::type_identity_t<Key>& key, const Make& make);

  const RunConfig& config_;
  const Machine& machine_;
  RunConfig base_config_, bare_config_;  // of no strategy; what is beside the strategy of a candidate
  ResolvedRun base_;
  int64_t rows_ = 1;
  bool shares_parameters_ = false;
  std::vector<EqualLayers> layers_;  // of the network
  std::vector<int> kept_layers_;     // of these, those that a shortened one has
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<ShortenedGraph>> shortened_;
  std::map<std::string, std::shared_ptr<const TrainingGraph>> trainings_;          // some of them, the last
  std::map<std::pair<double, int>, std::shared_ptr<const MachinePrices>> prices_;  // by parts, number of devices
  Once<int64_t, std::vector<double>> layer_seconds_;            // by rows of a microbatch of all replicas
  Once<std::pair<int64_t, int64_t>, std::vector<int>> chunks_;  // by these, and number of chunks
  Once<std::string, LayerProfile> profiles_;
  Once<std::string, ReplicaTraffic> traffic_;
};

}  // namespace shardscope
