#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// The program values that store what a plan keeps between steps, in the order of its graph's states.
std::vector<int> stored_values(const Plan& plan);

// What each rank, by number, copies of them for a checkpoint, in bytes: of a part that several ranks hold, the lowest
// copies it. The header of its file, which has the states' names, is not counted.
//
// Example: mesh data=2, model=2; a bias on no axis is rank 0's, a kernel split over model is copied by ranks 0 and 1.
// Ranks 2 and 3 copy nothing.
std::vector<int64_t> checkpoint_bytes(const Plan& plan);

}  // namespace shardscope
