#pragma once

#include "engine/plan/plan.h"
#include "engine/session/messages.h"

namespace shardscope {

// What a run of the plan tells clients first.
HelloMessage hello_of(const Plan& plan);

}  // namespace shardscope
