#include "engine/ops/elementwise_op.h"
#include "engine/ops/families.h"

namespace shardscope {

namespace {

// (x, dy) -> dx.
class GeluExactGrad : public ElementwiseOp {
 public:
  GeluExactGrad() : ElementwiseOp("gelu_exact_grad", 2, 1, 40) {}
};

const GeluExactGrad gelu_exact_grad;

// jax.nn.gelu(x, approximate=False), torch.nn.functional.gelu(x): x/2 (1 + erf(x / sqrt(2))).
class GeluExact : public ElementwiseOp {
 public:
  GeluExact() : ElementwiseOp("gelu_exact", 1, 0, 25) {}

  void gradient(GradientContext& context) const override {
    const ValueId x = context.graph.ops[context.op].inputs[0];
    context.operand_cotangents[0] = context.append_value(gelu_exact_grad, {x, context.result_cotangents[0]});
  }
};

const GeluExact gelu_exact;

}  // namespace

std::vector<const OpDefinition*> gelu_exact_ops() { return {&gelu_exact, &gelu_exact_grad}; }

}  // namespace shardscope
