#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "engine/graph/repeated_layers.h"
#include "engine/machine/machine.h"
#include "engine/search/candidates.h"
#include "engine/search/layer_memory.h"
#include "engine/search/lowered_step.h"
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

// What a lowered step (lowered_step.h) takes and holds, by parts of the network (network_parts.h).
struct LayerProfile {
  std::vector<EqualLayers> layers;
  bool goes_round = false;  // longer_ring.h
  int kept = 0;  // layers of the shortened network; part `kept` is what is before, part `kept` + 1 what is behind them
  std::vector<PartWork> begin, forward, backward, update;  // by part
  std::vector<PartWork> backward_of_inputs;                // without gradients of parameters
  std::vector<bool> is_joined;                             // by stream: it may run beside computing
  bool runs_here = true;                                   // the stack is this program
  int64_t rows = 1;                                        // of the microbatch
  double rows_of_expert =
      std::numeric_limits<double>::infinity();  // fewest of an op, of one replica; infinite without experts
  double forward_tail = 0, backward_tail = 0;   // s: transfers that end behind all that a task computes
  PartMessages forward_messages, backward_messages;
  LayerMemory memory;
  std::optional<LayerMemory> memory_of_other_order;  // weight_gradient_order.h: where a plan may list backward so
};

// Of a step that was lowered for this kind of profile of the candidate; what it takes in the order in which that is
// less.
LayerProfile profile_of(const LoweredStep& step, const Candidate& candidate, ProfileKind kind, const Machine& machine);

// Whether the gradients of the candidate's parameters are split over replicas.
bool splits_gradients(const Candidate& candidate);

}  // namespace shardscope
