#include "engine/plan/host_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace shardscope {

int hosts_of_group(const Plan& plan, const Instruction& instruction) {
  if (plan.ranks_per_host.size() < 2) return 1;
  const std::vector<AxisIndex> axes(instruction.axes().begin(), instruction.axes().end());
  size_t most = 1;
  for (int device = 0; device < plan.mesh.device_count(); ++device) {
    if (plan.mesh.group_index(device, axes) != 0) continue;
    std::set<int> hosts;
    for (int member : plan.mesh.group(device, axes)) hosts.insert(plan.host_of(member));
    most = std::max(most, hosts.size());
  }
  return static_cast<int>(most);
}

std::string hosts_text(const Plan& plan) {
  const std::vector<int>& ranks = plan.ranks_per_host;
  return ranks.size() < 2 ? "" : fmt::format("{} devices on {} hosts", fmt::join(ranks, " + "), ranks.size());
}

}  // namespace shardscope
