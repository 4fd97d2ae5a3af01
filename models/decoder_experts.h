#pragma once

#include "models/decoder_module.h"

namespace shardscope {

// A mixture of experts of x (b, s, e), with parameters of this module: a router's weight (experts, e), and the experts'
// kernels as transformers 5 keeps them, "experts/gate_up_proj" (experts, 2 inner, e) and "experts/down_proj"
// (experts, e, inner). Every device has all of its positions: nothing is dispatched. Split along the experts, each
// computes the positions that chose its own, and the parts add up.
ValueId decoder_experts(const DecoderModule& module, ValueId x);

}  // namespace shardscope
