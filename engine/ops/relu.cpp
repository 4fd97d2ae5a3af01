#include "engine/ops/elementwise_op.h"

namespace shardscope {

namespace {

// (relu(x), dy) -> dx: dy where relu(x) is above 0, which is where x is.
const ElementwiseOp relu_grad("relu_grad", 2, 1, 1);

// jax.nn.relu(x): max(x, 0), whose slope at 0 is 0.
const ElementwiseFunction relu("relu", 1, relu_grad, ElementwiseFunction::GradientOf::result);

}  // namespace

std::vector<const OpDefinition*> relu_ops() { return {&relu, &relu_grad}; }

}  // namespace shardscope
