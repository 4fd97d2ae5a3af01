#pragma once

#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// Per graph value, the stages whose devices make it, or store it; ascending. What they are sent of it does not count.
std::vector<std::vector<int>> stages_of_values(const Plan& plan);
// The devices of these stages, ascending.
std::vector<int> devices_of_stages(const Plan& plan, const std::vector<int>& stages);

}  // namespace shardscope
