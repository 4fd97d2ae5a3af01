#include "engine/ops/elementwise_op.h"

namespace shardscope {

namespace {

// (x, dy) -> dx.
const ElementwiseOp gelu_exact_grad("gelu_exact_grad", 2, 1, 40);

// jax.nn.gelu(x, approximate=False), torch.nn.functional.gelu(x): x/2 (1 + erf(x / sqrt(2))).
const ElementwiseFunction gelu_exact("gelu_exact", 25, gelu_exact_grad);

}  // namespace

std::vector<const OpDefinition*> gelu_exact_ops() { return {&gelu_exact, &gelu_exact_grad}; }

}  // namespace shardscope
