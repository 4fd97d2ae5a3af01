#pragma once

#include <vector>

#include "engine/config/host_list.h"
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

// The config for a search over so many devices, whatever its mesh has: a machine of fewer nodes gets as many as they
// and the mesh need (with_devices()); hosts, which are of the mesh's number, go where it differs.
RunConfig for_devices(RunConfig config, int64_t devices);

// The config's hosts with the ranks of each; none: it names none, or its mesh cannot be. Throws Failure (bad_hosts).
std::vector<HostRanks> hosts_of(const RunConfig& config);

}  // namespace shardscope
