#pragma once

#include <cstdint>

#include "engine/config/run_config.h"

namespace shardscope {

// Layers of the configured model, as pipelines cut it; 0 where it cannot be built.
int64_t layer_count(const RunConfig& config);

}  // namespace shardscope
