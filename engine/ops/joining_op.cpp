#include "engine/ops/joining_op.h"

#include "engine/ops/constant.h"
#include "engine/ops/registry.h"

namespace shardscope {

void JoiningOp::take_apart(const OpDefinition& apart, GradientContext& context) {
  const OpId parts = context.append(apart, {context.result_cotangents[0]}, context.graph.ops[context.op].attributes);
  context.operand_cotangents = context.graph.ops[parts].outputs;
}

void JoiningOp::put_together(const OpDefinition& together, GradientContext& context) {
  const Op op = context.graph.ops[context.op];
  std::vector<ValueId> cotangents = context.result_cotangents;
  for (size_t i = 0; i < cotangents.size(); ++i) {
    if (cotangents[i] != no_id) continue;
    cotangents[i] = context.append_value(op_definition("constant"), {},
                                         ConstantAttributes{0, context.graph.type(op.outputs[i])}, "zeros");
  }
  context.operand_cotangents[0] = context.append_value(together, cotangents, op.attributes);
}

}  // namespace shardscope
