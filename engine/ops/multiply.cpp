#include "engine/ops/elementwise_op.h"

namespace shardscope {

namespace {

// (a, b) -> a b, element by element. Linear in each operand alone, so sums must be complete.
class Multiply : public ElementwiseOp {
 public:
  Multiply() : ElementwiseOp("multiply", 2, 0, 1) {}

  void gradient(GradientContext& context) const override {
    const std::vector<ValueId> inputs = context.graph.ops[context.op].inputs;
    const ValueId dy = context.result_cotangents[0];
    if (context.trained[0]) context.operand_cotangents[0] = context.append_value(*this, {dy, inputs[1]}, {}, "first");
    if (context.trained[1]) context.operand_cotangents[1] = context.append_value(*this, {dy, inputs[0]}, {}, "second");
  }
};

const Multiply multiply;

}  // namespace

std::vector<const OpDefinition*> multiply_ops() { return {&multiply}; }

}  // namespace shardscope
