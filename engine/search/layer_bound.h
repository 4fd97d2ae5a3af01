#pragma once

#include <vector>

#include "engine/compile/plan_request.h"
#include "engine/machine/machine_prices.h"
#include "engine/search/bounds.h"
#include "engine/search/layer_profile.h"
#include "engine/search/schedule_orders.h"

namespace shardscope {

// What the plan of a candidate needs at least, from what a profile of its layers (layer_profile.h) says.
//
// Layers are equal in the plan, too, since layouts as written follow from an op's surroundings: a task of n equal
// layers takes n times what one of them does.
//
// A run of a task. Its device computes in the listed order; so the clock of TaskClock is a bound. Transfers of one
// stream run one after the other, and all end in the task: so is each stream's sum. The larger of both counts. Where
// backward is split into two tasks, each stream's sum of all that a stage runs does.
//
// A stage. It gets the message of a run at R, when the stage before gives it at S, and has it after the transfer, in
// which it does nothing else. Of work that begins at A, when the run before has ended, some may be done ahead of the
// message and some behind the message that it sends: S >= max(A, R) + work - ahead - behind, and its end E >= S +
// behind, E >= A + work. These are sums and maxima, so they rise with what they are of: the simulated time of the
// plan's tasks, in the schedule's order, is no less. Coarse, and for long sequences (above simulated_items runs): a
// stage works on all microbatches, after the first message has passed the stages before it, and before the last, where
// the schedule ends with it, has passed them back.
//
// Memory: memory_bound.h; as another software stack holds a plan, of states, its allocator and libraries alone.
inline constexpr int64_t simulated_items = 4096;
Bound layer_bound(const LayerProfile& profile, const Candidate& candidate, const std::vector<int>& chunks,
                  int64_t microbatches, bool coarse, const MachinePrices& prices, ScheduleOrders& orders);

// These bounds for the candidates of a request. For several threads at a time.
class LayerBounds {
 public:
  LayerBounds(const PlanRequest& request, int64_t devices);
  // `coarse`: by a profile that all numbers of replicas and stages share, and without simulation. Zero where there is
  // none: a strategy that cannot be, mode fastest.
  Bound of(const Candidate& candidate, bool coarse);
  LayerProfiles& profiles() { return profiles_; }
  const MachinePrices& prices() const { return prices_; }

 private:
  LayerProfiles profiles_;
  MachinePrices prices_;
  StackMemory stack_memory_;
  ScheduleOrders orders_;
};

}  // namespace shardscope
