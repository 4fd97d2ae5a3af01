#pragma once

#include "engine/ops/attention.h"
#include "models/decoder_module.h"

namespace shardscope {

// Causal attention of a decoder, as its options say: of all keys at once, or by blocks of the length round a ring (op
// ring_attention), for which the sequence is in zig-zag order from the tokens on. (query, key, value) -> context and
// log-sum-exp.
std::vector<ValueId> attend(const DecoderModule& module, const std::vector<ValueId>& operands,
                            const AttentionAttributes& attributes);

// Queries or keys (b, s, h, d), turned by their positions.
ValueId turn_by_position(const DecoderModule& module, ValueId x, RotaryAttributes rotary);

// Puts a dimension of an array in that order, where the options have one.
ValueId in_zigzag(const DecoderModule& module, ValueId x, int dimension, const char* leaf);

}  // namespace shardscope
