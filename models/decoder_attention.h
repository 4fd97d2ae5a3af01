#pragma once

#include "models/decoder_module.h"

namespace shardscope {

// Causal self-attention of x (b, s, e), with parameters of this module: grouped queries, head i uses key head
// i / (heads / key_heads).
ValueId decoder_attention(const DecoderModule& module, ValueId x, const DecoderLayer& layer);

}  // namespace shardscope
