#pragma once

#include <cstdint>
#include <limits>
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
#include "engine/search/layer_memory.h"
#include "engine/search/parameter_tokens.h"
#include "engine/search/task_clock.h"

namespace shardscope {

// What a profile is shared by. Where no parameter is read by several parts of the network (network_parts.h), stages
// have what one stage has of a layer, and all but `own` are shared by any number of stages.
enum class ProfileKind : uint8_t {
  undivided,     // as proportional, and what shares it with tensor and expert degrees of 1
  proportional,  // microbatches of all sizes, and what shares `coarse`: by the prices of an ideal machine
                 // (whole_step.h), on which bytes of collectives take what the fastest rule says, for one microbatch of
                 // all rows
  coarse,  // all numbers of replicas and stages: of one replica of one stage; `begin` and `update` are not those of
           // the candidate
  own
};

// From the loosest to the closest.
inline constexpr ProfileKind profile_kinds[] = {ProfileKind::undivided, ProfileKind::proportional, ProfileKind::coarse,
                                                ProfileKind::own};
inline bool is_of_all_sizes(ProfileKind kind) { return kind <= ProfileKind::proportional; }

// A training step as written of a shortened network (repeated_layers.h), for one stage that has all of it.
struct LayerProfile {
  std::vector<EqualLayers> layers;
  bool has_experts = false;
  bool goes_round = false;  // longer_ring.h
  int kept = 0;  // layers of the shortened network; part `kept` is what is before, part `kept` + 1 what is behind them
  std::vector<PartWork> begin, forward, backward, update;           // by part
  std::vector<PartWork> backward_of_inputs;                         // without gradients of parameters
  std::vector<bool> is_joined;                                      // by stream: it may run beside computing
  bool runs_here = true;                                            // the stack is this program
  int64_t rows = 1;                                                 // of the microbatch
  double rows_of_expert = std::numeric_limits<double>::infinity();  // fewest of an op, of one replica
  double forward_tail = 0, backward_tail = 0;  // s: transfers that end behind all that a task computes
  PartMessages forward_messages, backward_messages;
  LayerMemory memory;
};

// What the replicas of a candidate move in each run of a task, of parameters and their gradients of layers: in update
// sums of gradients and gathers of parameters; with ZeRO 2 or fsdp all-gathers in forward, both in backward.
struct ReplicaTraffic {
  enum Where : uint8_t { forward, backward, update };
  struct Moved {
    int part = 0;
    Where where = forward;
    InstructionKind kind = InstructionKind::all_gather;
    // Of the dimension that replicas split, on one device; where they do not divide it, it is not. 0: none is.
    int64_t size = 1;
    double bytes = 0;  // payload
    // What could move in its place: bytes of one row, what a device has at least; infinite where nothing could.
    TokensOfParameter tokens = {};

    bool is_beside(const Moved& other) const {  // one move of what both take may serve both
      return part == other.part && where == other.where && tokens.taken == other.tokens.taken;
    }
  };
  std::vector<Moved> moved;  // one behind the other: what is beside each other, and in that what is of one parameter
};

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
  bool has_experts() const { return has_experts_; }
  int64_t microbatches_of(const Candidate& candidate) const;  // of one replica
  bool accumulates(const Candidate& candidate) const;         // gradients, over microbatches or for an update apart

 private:
  bool is_of_kept_layers(const ShortenedGraph& graph) const;
  const ShortenedGraph& shortened(const ResolvedRun& run, const TokenBlocks& blocks);
  std::shared_ptr<const TrainingGraph> training(const ResolvedRun& run, const std::set<std::string>& kept);
  // Of the machine where `parts` is 0; else of an ideal one for so many (whole_step.h).
  std::shared_ptr<const MachinePrices> prices(const Mesh& mesh, double parts);
  ResolvedRun run_with(const RunConfig& config, int64_t rows);
  struct LoweredStep;
  bool has_stages(const Candidate& candidate, ProfileKind kind) const;
  LoweredStep lowered(const Candidate& candidate, StrategyConfig strategy, double parts, bool has_stages);
  std::optional<LayerProfile> make(const Candidate& candidate, ProfileKind kind);
  // Of one device of each replica and ring, by a shorter ring where that says enough.
  std::optional<LayerProfile> make_undivided(Candidate candidate);
  std::optional<ReplicaTraffic> make_traffic(const Candidate& candidate);
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
  bool has_experts_ = false, shares_parameters_ = false;
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
