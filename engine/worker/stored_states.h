#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint_layout.h"
#include "engine/plan/plan.h"
#include "engine/plan/stored_values.h"

namespace shardscope {

// All that a plan keeps between steps, in the order of stored_values(), whatever each of them is, and where.
std::vector<StoredState> stored_states(const Plan& plan);
// The parameter of which the state of this name is the master copy; nothing for other states.
std::optional<std::string> of_master(const std::string& state);
// "data 4 x model 2"
std::string mesh_text(const Mesh& mesh);

}  // namespace shardscope
