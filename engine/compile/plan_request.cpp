#include "engine/compile/plan_request.h"

#include "engine/machine/chosen_machine.h"
#include "engine/machine/chosen_stack.h"
#include "engine/mesh/device_count.h"

namespace shardscope {

std::vector<HostRanks> hosts_of(const RunConfig& config) {
  const int64_t ranks = device_count(config.mesh_axes);
  if (config.hosts.empty() || ranks > Mesh::max_devices) return {};
  return lay_over_hosts(parse_host_list(config.hosts, "hosts"), static_cast<int>(ranks), "hosts");
}

PlanRequest plan_request(const RunConfig& config) {
  return {config, chosen_machine(config.machine, ranks_per_host(hosts_of(config)), chosen_stack(config.stack))};
}

}  // namespace shardscope
