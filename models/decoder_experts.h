#pragma once

#include "models/decoder_module.h"

namespace shardscope {

// A mixture of experts of x (b, s, e), with parameters of this module: a router's weight (experts, e), and the experts'
// kernels as transformers 5 keeps them, "experts/gate_up_proj" (experts, 2, inner, e) and "experts/down_proj"
// (experts, e, inner). The 2, gate and up, which transformers joins with inner, is a dimension of its own, so that a
// device may have the same part of both. Every device has all of its positions: nothing is dispatched. Split along the
// experts, each computes the positions that chose its own, and the parts add up.
//
// Types: operands of the experts' products are in the compute type, and so are positions on their way to experts and
// back (results of f8 products are bf16). In f32 are scores, the choice of experts and their weights, biases, gates,
// and the weighted sums of what experts give. A kernel is cast once a step.
ValueId decoder_experts(const DecoderModule& module, ValueId x);

// The loss that balances experts, of all layers together as transformers has it: experts x sum over them of the share
// of tokens that chose one times its mean probability; k where all are even. Of layers whose options have a `balance`.
// (W. Fedus et al., Switch Transformer, 2021.)
ValueId balance_loss(const DecoderModule& module);

}  // namespace shardscope
