#pragma once

#include <cstdint>
#include <vector>

#include "engine/compile/plan_request.h"
#include "engine/config/run_config.h"

namespace shardscope {

// Layers of the configured model, as pipelines cut it; 0 where it cannot be built.
int64_t layer_count(const RunConfig& config);

// Layers of each model chunk of its pipeline, as compile() cuts them; one number without a pipeline, none where the
// request has faults.
std::vector<int> layers_of_chunks(const PlanRequest& request);

}  // namespace shardscope
