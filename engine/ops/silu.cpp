#include "engine/ops/elementwise_op.h"

namespace shardscope {

namespace {

// (x, dy) -> dx.
const ElementwiseOp silu_grad("silu_grad", 2, 1, 12);

// jax.nn.silu(x), torch.nn.functional.silu: x / (1 + e^-x).
const ElementwiseFunction silu("silu", 10, silu_grad);

}  // namespace

std::vector<const OpDefinition*> silu_ops() { return {&silu, &silu_grad}; }

}  // namespace shardscope
