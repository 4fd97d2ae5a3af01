#pragma once

#include "models/decoder_options.h"
#include "models/registry.h"

namespace shardscope {

// The forward graph of a decoder-only transformer with its mean cross-entropy: inputs "tokens" and "labels" i32
// (batch, length). Dimensions of parameters have the logical names "vocab", "embed", "heads" and "kv_heads" (heads
// times their size), "kv" (the size of a head), "mlp", "length"; a parameter that joins several has "" there.
Graph build_decoder(const DecoderOptions& options, const ModelContext& context, int64_t length, DType compute);

}  // namespace shardscope
