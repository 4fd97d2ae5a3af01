#pragma once

#include "models/decoder_module.h"

namespace shardscope {

// The decoder's norm over the last dimension of x, called `logical`, with parameters of this module.
ValueId decoder_norm(const DecoderModule& module, ValueId x, const std::string& logical);
ValueId decoder_norm(const DecoderModule& module, const DecoderNorm& norm, ValueId x, const std::string& logical);

}  // namespace shardscope
