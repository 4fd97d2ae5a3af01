#include "engine/ops/families.h"
#include "engine/ops/labelled_op.h"
#include "engine/ops/workspace.h"

namespace shardscope {

namespace {

// Softmax attention without an array of scores. Dimensions: b batch, q query position, k key position, h head, d size
// of a head. Attributes: causal, padding (0 or 1), dropout_rate, seed, dropout_fold (as in op dropout, over the index
// in (b, h, q, k)). Scores are (query / sqrt(d)) key; masked ones are finfo(f32).min as in flax.linen, so that a row
// with nothing allowed is uniform. Positions are global: a split q knows its offset. k and d must be whole.

double products(std::span<const TensorType> operands, int count) {
  const Shape& q = operands[0].shape;
  return 2.0 * count * static_cast<double>(element_count(q)) * static_cast<double>(operands[1].shape[1]);
}

int64_t scratch(std::span<const TensorType> operands, int threads) {
  const Shape& q = operands[0].shape;
  return attention_workspace_bytes(q[1], operands[1].shape[1], q[3], threads);
}

// (query, key, value, query tokens, key tokens, context, lse, d context) -> (d query, d key, d value).
class AttentionGrad : public LabelledOp {
 public:
  std::string_view name() const override { return "attention_grad"; }
  bool is_matrix_product() const override { return true; }
  double flops(const Attributes&, std::span<const TensorType> operands, std::span<const TensorType>) const override {
    return products(operands, 5);
  }
  int64_t workspace_bytes(const Attributes&, std::span<const TensorType> operands, std::span<const TensorType>,
                          int threads) const override {
    return scratch(operands, threads);
  }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType>) const override {
    return {{"bqhd", "bkhd", "bkhd", "bq", "bk", "bqhd", "bhq", "bqhd"}, {"bqhd", "bkhd", "bkhd"}, "kd", false};
  }
  double flops_per_element() const override { return 0; }
};

const AttentionGrad attention_grad;

// (query, key, value, query tokens i32 (b, q), key tokens i32 (b, k)) -> (context (b, q, h, d), log-sum-exp (b, h, q)).
class Attention : public LabelledOp {
 public:
  std::string_view name() const override { return "attention"; }
  bool is_matrix_product() const override { return true; }
  double flops(const Attributes&, std::span<const TensorType> operands, std::span<const TensorType>) const override {
    return products(operands, 2);
  }
  int64_t workspace_bytes(const Attributes&, std::span<const TensorType> operands, std::span<const TensorType>,
                          int threads) const override {
    return scratch(operands, threads);
  }

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    std::vector<ValueId> inputs = op.inputs;
    inputs.insert(inputs.end(), {op.outputs[0], op.outputs[1], context.result_cotangents[0]});
    OpId grad = context.append(attention_grad, inputs, op.attributes);
    for (int i = 0; i < 3; ++i) context.operand_cotangents[i] = context.graph.ops[grad].outputs[i];
  }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType>) const override {
    return {{"bqhd", "bkhd", "bkhd", "bq", "bk"}, {"bqhd", "bhq"}, "kd", false};
  }
  double flops_per_element() const override { return 0; }
};

const Attention attention;

}  // namespace

std::vector<const OpDefinition*> attention_ops() { return {&attention, &attention_grad}; }

}  // namespace shardscope
