#pragma once

#include "models/decoder_module.h"

namespace shardscope {

// The feed-forward half of a layer, of x (b, s, e), with parameters of this module: down(activation(up x)), or gated:
// down(activation(gate x) up x).
ValueId decoder_feed_forward(const DecoderModule& module, ValueId x);

ValueId activate(const Module& ops, ValueId x, Activation activation);

}  // namespace shardscope
