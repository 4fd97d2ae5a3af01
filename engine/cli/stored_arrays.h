#pragma once

#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// An array that the ranks keep between steps: a parameter ("params/Embed_0/embedding") or a part of the optimizer's
// state
// ("optimizer/mu/params/Embed_0/embedding").
struct StoredArray {
  std::string name;
  Shape shape;
  Sharding sharding;
};

// Parameters in model order, then their states, by name of state.
std::vector<StoredArray> stored_arrays(const Plan& plan);

// The one called `name`; the collection of the parameter may be left out ("Embed_0/embedding"). Throws Failure with
// near names.
StoredArray find_stored_array(const Plan& plan, const std::string& name);

}  // namespace shardscope
