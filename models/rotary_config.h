#pragma once

#include <optional>

#include "models/model_config.h"
#include "models/rotary_frequencies.h"

namespace shardscope {

// What a config says of rotary positions: "rope_parameters" (transformers 5), or "rope_scaling", "rope_theta" and
// "partial_rotary_factor" (before), of which the former goes first.
struct RotaryDefaults {
  double theta = 10000;
  double partial = 1;  // share of a head that is turned
  int64_t head_size = 0;
  int64_t positions = 0;       // the config's maximum
  int64_t sequence = 0;        // of the run
  bool takes_partial = false;  // reads "partial_rotary_factor"
  // What the config itself says, which goes before the parameters' "original_max_position_embeddings".
  std::optional<int64_t> original_positions = {};
};
RotaryScaling read_rotary(ModelConfig& config, const RotaryDefaults& defaults);

// One object of parameters, "rope_parameters" or one layer type's.
RotaryScaling read_rotary_parameters(ModelConfig& parameters, const RotaryDefaults& defaults);

}  // namespace shardscope
