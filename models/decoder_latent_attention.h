#pragma once

#include "models/decoder_module.h"

namespace shardscope {

// Causal latent attention of x (b, s, e), with parameters of this module (transformers' DeepseekV3Attention). Where
// values are smaller than keys they are filled up with zeros, since attention takes heads of one size; the product of
// weights and values then costs more than it need.
ValueId decoder_latent_attention(const DecoderModule& module, ValueId x, const DecoderLayer& layer);

}  // namespace shardscope
