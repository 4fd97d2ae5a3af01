#include "engine/ops/labelled_op.h"

namespace shardscope {

namespace {

// Attention sinks (gpt-oss): one more score for each head, of a key whose value is zero. As attention gives the
// logarithm of its scores' sum, the context with a sink is context x sigmoid(lse - sink).

// (d y, context, lse, sinks) -> (d context, d lse, d sinks).
class AttentionSinkGrad : public LabelledOp {
 public:
  std::string_view name() const override { return "attention_sink_grad"; }
  std::string_view work_kind() const override { return "attention"; }
  int in_place_operand(int result) const override { return result == 0 ? 0 : -1; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType>) const override {
    return {{"bqhd", "bqhd", "bhq", "h"}, {"bqhd", "bhq", "h"}, "", false};
  }
  double flops_per_element() const override { return 3; }
};

const AttentionSinkGrad attention_sink_grad;

// (context (b, q, h, d), lse (b, h, q), sinks (h)) -> the context with sinks.
class AttentionSink : public LabelledOp {
 public:
  std::string_view name() const override { return "attention_sink"; }
  std::string_view work_kind() const override { return "attention"; }

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    const OpId grad =
        context.append(attention_sink_grad, {context.result_cotangents[0], op.inputs[0], op.inputs[1], op.inputs[2]});
    context.operand_cotangents = context.graph.ops[grad].outputs;
  }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType>) const override {
    return {{"bqhd", "bhq", "h"}, {"bqhd"}, "", false};
  }
  double flops_per_element() const override { return 1; }
};

const AttentionSink attention_sink;

}  // namespace

std::vector<const OpDefinition*> attention_sink_ops() { return {&attention_sink, &attention_sink_grad}; }

}  // namespace shardscope
