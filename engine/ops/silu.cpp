#include "engine/ops/elementwise_op.h"
#include "engine/ops/families.h"

namespace shardscope {

namespace {

// (x, dy) -> dx.
class SiluGrad : public ElementwiseOp {
 public:
  SiluGrad() : ElementwiseOp("silu_grad", 2, 1, 12) {}
};

const SiluGrad silu_grad;

// jax.nn.silu(x), torch.nn.functional.silu: x / (1 + e^-x).
class Silu : public ElementwiseOp {
 public:
  Silu() : ElementwiseOp("silu", 1, 0, 10) {}

  void gradient(GradientContext& context) const override {
    const ValueId x = context.graph.ops[context.op].inputs[0];
    context.operand_cotangents[0] = context.append_value(silu_grad, {x, context.result_cotangents[0]});
  }
};

const Silu silu;

}  // namespace

std::vector<const OpDefinition*> silu_ops() { return {&silu, &silu_grad}; }

}  // namespace shardscope
