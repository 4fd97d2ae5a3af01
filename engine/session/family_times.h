#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/machine/priced_family.h"
#include "engine/plan/plan.h"
#include "engine/session/messages.h"

namespace shardscope {

// What a recorded training step says of a family of instructions, beside what its plan predicted. Seconds are those of
// the step on the mean rank, without waiting for other ranks. Where ranks outnumber the cores of their host, a rank
// that computes has a core to itself for a while, and waits while others have it; predicted is what an instruction
// takes with the rank's share of a core. There measured times are enlarged, all of a rank by one factor, until they are
// as much of the step as the plan says.
//
// Example: 8 ranks on 2 cores, a step of 100 ms as predicted, in which each rank works for 25 ms and waits for 75:
// times four.
struct FamilyTimes {
  PricedFamily family;
  int64_t count = 0;  // of instructions, on all ranks
  double off = 1;     // the median of measured over predicted, of all these; of ranks that share cores, of the sums
  double predicted = 0, measured = 0;
  double latency = 0;  // of `predicted`: what no work at all would take

  // How many times as long the work takes when the latency is as predicted, for with_slower(); nothing where latency is
  // most of it.
  std::optional<double> correction() const;
};

// Of the plan's families, the longest first; none where the trace is of another plan. Left out are sends and receives,
// whose time is mostly that of others, and collectives beside which the rank has worked: how long they took by
// themselves was not seen.
std::vector<FamilyTimes> family_times(const Plan& plan, const TraceMessage& trace);

}  // namespace shardscope
