#pragma once

#include <limits>
#include <map>
#include <mutex>
#include <vector>

#include "engine/compile/plan_request.h"
#include "engine/machine/machine_prices.h"
#include "engine/search/bounds.h"
#include "engine/search/chunk_seconds.h"
#include "engine/search/layer_profiles.h"
#include "engine/search/schedule_orders.h"

namespace shardscope {

// What the plan of a candidate needs at least, from what a profile of its layers (layer_profile.h) says.
//
// Layers are equal in the plan, too, since layouts as written follow from an op's surroundings: a task of n equal
// layers takes n times what one of them does.
//
// A run of a task. Its device computes in the listed order; so the clock of TaskClock is a bound. Transfers of one
// stream run one after the other, and all begin and end in the task: so is each stream's sum; and so are the transfers
// of what the task is given that the ops up to one need, what is computed from there to a second one in the listed
// order, and transfers of what is made from that on. The largest counts. Where backward is split into two tasks, each
// stream's sum of all that a stage runs does; and a run of the second half takes what moves gradients that it makes.
//
// Of backward a plan lists some tasks in one order and some in another (weight_gradient_order.h): of each part, and of
// memory, what is less in one of the two counts.
//
// A stage. It gets the message of a run at R, when the stage before gives it at S, and has it after the transfer, in
// which it does nothing else: beside it run only transfers that do not wait for it. Of work that begins at A, when the
// run before has ended, some may be done ahead of the message and some behind the message that it sends: S >= max(A, R)
// + work - ahead - behind, and its end E >= S + behind, E >= A + work. These are sums and maxima, so they rise with
// what they are of: the simulated time of the plan's tasks, in the schedule's order, is no less. That a message waits
// is claimed only where each layer gives one array, to the next one. Of all sizes, and for long orders (above
// simulated_items runs): a stage works on all microbatches, after the first message has passed the stages before it,
// and before the last, where the schedule ends with it, has passed them back.
//
// Replicas. With fsdp or ZeRO 3 each run of a task gathers the parameters of its layers, for forward and again for
// backward, and with these or ZeRO 2 backward sums each gradient to the part of a replica. Else an update of several
// microbatches sums them, and with ZeRO gathers the parameters. What a task moves so is as of two replicas. For ZeRO
// puts replicas on the largest of the dimensions that they divide (zero_split.h): where an even number of them divides
// the dimension that two are put on, it is put there too, since what it divides two do. Layouts as written follow from
// which dimensions are split, not into how many parts, and the payload of a gather is the array behind it, that of a
// sum the array before it, whatever their number; of a whole sum it is the array. But an op moves what is fewer bytes
// (written_placement.h): in the place of a parameter or its gradient, one of the arrays that it meets, which then goes
// to or comes from all replicas (parameter_tokens.h). A parameter that is less than each of these is moved for certain.
// Of others that meet one array, q, k and v say, a move of that may serve all, in backward their gradients too: so in
// each task the least counts of that move and of the sum of what each takes apart. All else counts for nothing: an odd
// number of replicas, and what they do not divide so. Each byte takes at least what the fastest rule says for the
// groups of the candidate. An own profile has it already.
//
// Of all sizes of microbatches. On the ideal machine of whole_step.h, for as many parts as there are rows, an op of r
// rows takes max(a r + w, b r), a collective c r: for each row no less than of more rows. So computing, clock and
// streams, which are sums and maxima of these, take of a share of the rows of the profile at least that share.
// Differences of them need not: of what passes only computing counts that waits for a message and is waited for, and of
// backward without gradients of parameters the clock of what is left. Of experts each has whole rows, the fewest of
// them by share_of_whole_rows().
//
// Undivided. Tensor and expert degrees split what one device of a replica computes, moves and holds into equal parts,
// at most as many as there are devices: each takes at least its part of what the undivided profile says. What these
// degrees exchange counts for nothing. Of long rings it is derived: longer_ring.h.
//
// Memory: memory_bound.h.
inline constexpr int64_t simulated_items = 131072;

Bound layer_bound(const LayerProfile& profile, ProfileKind kind, const Candidate& candidate,
                  const std::vector<int>& chunks, int64_t microbatches, const ReplicaMoves& moves, double limit,
                  const MachinePrices& prices, ScheduleOrders& orders);

// These bounds for the candidates of a request. For several threads at a time.
class LayerBounds {
 public:
  LayerBounds(const PlanRequest& request, int64_t devices);
  // By a profile of this kind; without simulation where it is one of all sizes. Zero where there is none: a
  // strategy that cannot be, mode fastest. Of one that needs more memory than `limit` the time is not looked for; of
  // one that takes `enough` seconds without it, not what replicas move.
  Bound of(const Candidate& candidate, ProfileKind kind, double limit = std::numeric_limits<double>::infinity(),
           double enough = std::numeric_limits<double>::infinity());
  LayerProfiles& profiles() { return profiles_; }
  const MachinePrices& prices() const { return prices_; }

 private:
  ReplicaRates replica_rates(const StrategyConfig& strategy);

  LayerProfiles profiles_;
  MachinePrices prices_;
  StackMemory stack_memory_;
  ScheduleOrders orders_;
  std::mutex mutex_;
  std::map<std::vector<int64_t>, ReplicaRates> rates_;  // by sizes of what replicas alternate with on the mesh
};

}  // namespace shardscope
