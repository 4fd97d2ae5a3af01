#pragma once

#include "models/model_config.h"

namespace shardscope {

// "quantization_config", which says how a folder's weights are stored: "fp8" with scales of blocks of 128 x 128, or
// "mxfp4", as weights are read (checkpoint/stored_weight.h). What is computed and exported is not quantised. Other
// methods are faults, unless the field is ignored.
void read_quantization(ModelConfig& config);

}  // namespace shardscope
