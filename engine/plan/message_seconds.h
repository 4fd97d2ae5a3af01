#pragma once

#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// Seconds of a message of each of the program's channels, alone. The plan charges them to the receive; what it charges
// to the send is the copy of what is sent.
std::vector<double> message_seconds(const Plan& plan);

}  // namespace shardscope
