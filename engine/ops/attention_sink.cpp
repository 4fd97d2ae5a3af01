#include "engine/ops/stated_op.h"

namespace shardscope {

namespace {

// Attention sinks (gpt-oss): one more score for each head, of a key whose value is zero. As attention gives the
// logarithm of its scores' sum, the context with a sink is context x sigmoid(lse - sink).

// (d y, context, lse, sinks) -> (d context, d lse, d sinks).
const StatedOp attention_sink_grad({.name = "attention_sink_grad",
                                    .work_kind = "attention",
                                    .equation = "bqhd,bqhd,bhq,h->bqhd,bhq,h",
                                    .flops = 3,
                                    .in_place = {0}});

void attention_sink_gradient(GradientContext& context) {
  const Op op = context.graph.ops[context.op];
  const OpId grad =
      context.append(attention_sink_grad, {context.result_cotangents[0], op.inputs[0], op.inputs[1], op.inputs[2]});
  context.operand_cotangents = context.graph.ops[grad].outputs;
}

// (context (b, q, h, d), lse (b, h, q), sinks (h)) -> the context with sinks.
const StatedOp attention_sink({.name = "attention_sink",
                               .work_kind = "attention",
                               .equation = "bqhd,bhq,h->bqhd",
                               .flops = 1,
                               .gradient = attention_sink_gradient});

}  // namespace

std::vector<const OpDefinition*> attention_sink_ops() { return {&attention_sink, &attention_sink_grad}; }

}  // namespace shardscope
