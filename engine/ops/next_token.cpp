#include "engine/ops/stated_op.h"

namespace shardscope {

namespace {

// Next-token prediction as tokens[:, 1:] against logits[:, :-1], without slicing: (tokens i32 (b, s)) -> (labels i32
// (b, s), weights f32 (b, s)). A position's label is the token after it; the last position's is 0, with weight 0, and
// the others weigh s / (s - 1), so that the weighted mean over b x s positions is the mean over those that have a
// label. A position needs its neighbour: s cannot be split.
const StatedOp next_token({.name = "next_token",
                           .work_kind = "data movement",
                           .equation = "bs->bs,bs",
                           .whole = "s",
                           .flops = 1,
                           .types = "i->if",
                           .stops_gradient = true});

}  // namespace

std::vector<const OpDefinition*> next_token_ops() { return {&next_token}; }

}  // namespace shardscope
