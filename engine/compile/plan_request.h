#pragma once

#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/machine/machine.h"

namespace shardscope {

// All that a plan depends on.
struct PlanRequest {
  RunConfig config;
  Machine machine;  // with the hosts that the run goes over
};

// What a run file asks for: its machine, with its hosts; this host as calibrated, where it names none. The one place
// that reads the host's file for a plan. Throws Failure with the faults of both keys.
PlanRequest plan_request(const RunConfig& config);

// How many ranks each of the config's hosts takes, in order; none: it names no hosts, or its mesh cannot be. Throws
// Failure (bad_hosts).
std::vector<int> ranks_per_host(const RunConfig& config);

}  // namespace shardscope
