#pragma once

#include <span>
#include <vector>

#include "engine/checkpoint/checkpoint_layout.h"
#include "engine/plan/plan.h"

namespace shardscope {

// All that a plan keeps between steps, in the order of its graph's states, whatever each of them is, and where.
std::vector<StoredState> stored_states(const Plan& plan);
// The program values that store them, in the same order.
std::vector<int> stored_values(const Plan& plan);
// "data 4 x model 2"
std::string mesh_text(const Mesh& mesh);

}  // namespace shardscope
