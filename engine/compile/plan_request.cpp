#include "engine/compile/plan_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/machine/chosen_machine.h"
#include "engine/machine/chosen_stack.h"
#include "engine/machine/topology.h"
#include "engine/mesh/device_count.h"

namespace shardscope {

std::vector<HostRanks> hosts_of(const RunConfig& config) {
  const int64_t ranks = device_count(config.mesh_axes);
  if (config.hosts.empty() || ranks > Mesh::max_devices) return {};
  return lay_over_hosts(parse_host_list(config.hosts, "hosts"), static_cast<int>(ranks), "hosts");
}

PlanRequest plan_request(const RunConfig& config) {
  PlanRequest request{config,
                      chosen_machine(config.machine, ranks_per_host(hosts_of(config)), chosen_stack(config.stack))};
  const int64_t devices = device_count(config.mesh_axes);
  if (devices > Mesh::max_devices) return request;
  try {
    Topology(request.machine.levels, static_cast<int>(devices));
  } catch (const Failure& failure) {
    const std::optional<MachineSize> size = machine_size(config.machine);
    if (!size) throw;
    const int64_t enough = machine_size(with_devices(config.machine, devices))->number;
    Error missing = failure.errors().front();
    missing.place.path = "machine." + size->key;
    missing.hint =
        fmt::format("a mesh of at most {}, or {} {}", *device_limit(request.machine.levels), enough, size->key);
    throw Failure(std::move(missing));
  }
  return request;
}

RunConfig for_devices(RunConfig config, int64_t devices) {
  const int64_t own = device_count(config.mesh_axes);
  if (devices != own) config.hosts.clear();
  config.machine = with_devices(config.machine, std::max(own, devices));
  return config;
}

}  // namespace shardscope
