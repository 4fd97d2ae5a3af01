#pragma once

#include "models/decoder_module.h"

namespace shardscope {

// The feed-forward half of a layer, of x (b, s, e), with parameters of this module: down(activation(up x)), or gated:
// down(activation(gate x) up x), with `inner` elements between.
ValueId decoder_feed_forward(const DecoderModule& module, ValueId x, int64_t inner);

ValueId activate(const Module& ops, ValueId x, const Activation& activation);

}  // namespace shardscope
