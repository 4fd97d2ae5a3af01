#pragma once

#include "models/decoder_options.h"
#include "models/registry.h"

namespace shardscope {

// The forward graph of a decoder-only transformer with its mean cross-entropy: inputs "tokens" and "labels" i32
// (batch, length). Dimensions of parameters have the logical names "vocab", "embed", "heads" and "kv_heads" (heads
// times their size), "kv" (the size of a head), "mlp", "length"; a dimension of layers that are one on disk, or in
// which they follow each other, has "".
Graph build_decoder(const DecoderOptions& options, const ModelContext& context, int64_t length, DType compute);

}  // namespace shardscope
