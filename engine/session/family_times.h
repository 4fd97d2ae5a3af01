#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/machine/priced_family.h"
#include "engine/plan/plan.h"
#include "engine/session/messages.h"

namespace shardscope {

// What a recorded training step says of a family of instructions, beside what its plan predicted. Seconds are those of
// the step on the mean rank, without waiting for other ranks.
struct FamilyTimes {
  PricedFamily family;
  int64_t count = 0;  // of instructions, on all ranks
  double off = 1;     // the median of measured over predicted, of all these
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
