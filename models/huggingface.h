#pragma once

#include "models/registry.h"

namespace shardscope {

// A model that a config.json of Hugging Face's transformers describes (models/families.h): "path" is its folder or the
// file, "overrides" are fields that the run file gives in its place. Parameters have the names and shapes that they
// have on disk, with "/" for ".": params/model/layers/0/self_attn/q_proj/weight.
ModelDefinition huggingface();

}  // namespace shardscope
