#pragma once

#include <cstdint>
#include <string>

#include "engine/config/run_config.h"

namespace shardscope {

// A run file for the model that a folder (or its config.json) describes, to begin with: a mesh data x model of so many
// devices, of which the model axis is the largest power of 2 up to 8 that divides heads, key heads and hidden layers,
// and splits them and the vocabulary; random tokens; AdamW. `ignore`: fields of config.json that may be unknown. Throws
// Failure with the faults of the description.
RunConfig run_of_model(const std::string& path, int64_t devices, const TextList& ignore = {});

}  // namespace shardscope
