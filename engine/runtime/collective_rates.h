#pragma once

#include <span>

#include "engine/machine/machine.h"
#include "engine/runtime/measurements.h"

namespace shardscope {

// What collectives of one kind among p ranks take that share a host's cores:
// latency + p latency_per_member + p / cores x the bytes that a rank sends by the ring convention x seconds_per_byte.
struct CollectiveRates {
  double latency = 0, latency_per_member = 0, seconds_per_byte = 0;  // none below 0
};

// The nearest to what was measured: least squares of the residuals relative to each time, so that small collectives say
// the latencies and large ones the bandwidth.
CollectiveRates fit_collective(std::span<const CollectiveTiming> timings, int cores);

// A direct rule for each kind that was measured, and the level's own latency and rate, of which rules say what is
// beyond and what share is reached.
void set_collective_rates(Machine& machine, const Measurements& measured);

}  // namespace shardscope
