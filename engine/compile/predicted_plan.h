#pragma once

#include <stop_token>

#include "engine/compile/plan_request.h"
#include "engine/plan/plan.h"

namespace shardscope {

// The plan of compile() as far as its prediction goes: graph, program, arenas, and of `totals` and `simulation` what
// memory and time a step takes, which are those of compile(). Without proofs, descriptions, metrics, warnings, hash,
// when each instruction runs, and FLOPs and wire bytes of a device. Throws as compile() does.
Plan predicted_plan(const PlanRequest& request, std::stop_token stop = {});

}  // namespace shardscope
