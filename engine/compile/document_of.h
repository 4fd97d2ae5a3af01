#pragma once

#include "engine/config/run_config.h"
#include "engine/plan/plan.h"

namespace shardscope {

// The run file that a plan was made of: for what edits it, exports it or makes other plans of it. Those who run or show
// the plan find what they need in the plan itself.
RunConfig document_of(const Plan& plan);

}  // namespace shardscope
