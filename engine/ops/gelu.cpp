#include "engine/ops/elementwise_op.h"

namespace shardscope {

namespace {

// (x, dy) -> dx of the tanh form.
const ElementwiseOp gelu_grad("gelu_grad", 2, 1, 20);

// jax.nn.gelu(x, approximate=True): x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
const ElementwiseFunction gelu("gelu", 12, gelu_grad);

}  // namespace

std::vector<const OpDefinition*> gelu_ops() { return {&gelu, &gelu_grad}; }

}  // namespace shardscope
