#include "engine/plan/value_stages.h"

#include <algorithm>

namespace shardscope {

std::vector<std::vector<int>> stages_of_values(const Plan& plan) {
  std::vector<std::vector<int>> stages_of(plan.graph->values.size());
  for (const ProgramValue& value : plan.program.values) {
    if (value.graph_value == no_id || value.moved) continue;
    std::vector<int>& stages = stages_of[static_cast<size_t>(value.graph_value)];
    const auto at = std::ranges::lower_bound(stages, value.stage);
    if (at == stages.end() || *at != value.stage) stages.insert(at, value.stage);
  }
  return stages_of;
}

std::vector<int> devices_of_stages(const Plan& plan, const std::vector<int>& stages) {
  std::vector<int> devices;
  for (int device = 0; device < plan.mesh.device_count(); ++device) {
    if (std::ranges::binary_search(stages, plan.stage_of(device))) devices.push_back(device);
  }
  return devices;
}

}  // namespace shardscope
