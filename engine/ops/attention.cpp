#include "engine/ops/attention.h"

#include "engine/base/error.h"
#include "engine/ops/families.h"
#include "engine/ops/labelled_op.h"
#include "engine/ops/workspace.h"

namespace shardscope {

std::string to_string(const AttentionAttributes& attributes) {
  return (attributes.causal ? "causal, " : "") + to_string(attributes.dropout);
}

uint64_t hash_of(const AttentionAttributes& attributes) { return hash_of(attributes.dropout); }

namespace {

// Softmax attention without an array of scores. Dimensions: b batch, q query position, k key position, h head, d size
// of a head. Weights are dropped as in op dropout, over the index in (b, h, q, k). Scores are (query / sqrt(d)) key;
// masked ones are finfo(f32).min as in flax.linen, so that a row with nothing allowed is uniform. Positions are global:
// a split q knows its offset. k and d must be whole.
//
// A mask is one more operand, valid keys i32 (b, k), or two, valid queries i32 (b, q) before them: positions above 0
// are valid, as flax.linen.make_attention_mask(x > 0, x > 0). An invalid query sees no key. Where the key has fewer
// heads, each of its g heads serves r query heads that follow each other: h = (g r).

void add_mask(Labels& labels, size_t operand_count) {
  if (operand_count == labels.operands.size() + 2) labels.operands.push_back("bq");
  if (operand_count == labels.operands.size() + 1) labels.operands.push_back("bk");
}

struct AttentionLabels {
  std::string query, key, lse;
};

AttentionLabels attention_labels(std::span<const TensorType> operands) {
  const bool fits = operands.size() > 1 && operands[0].shape.size() == 4 && operands[1].shape.size() == 4;
  if (!fits || operands[0].shape[2] == operands[1].shape[2]) return {"bqhd", "bkhd", "bhq"};
  if (operands[1].shape[2] == 0 || operands[0].shape[2] % operands[1].shape[2] != 0) {
    throw Failure(Error{"shape",
                        std::to_string(operands[0].shape[2]) + " query heads are not a multiple of " +
                            std::to_string(operands[1].shape[2]) + " key heads",
                        "", "each key head serves the same number of query heads"});
  }
  return {"bq(gr)d", "bkgd", "b(gr)q"};
}

double product_flops(std::span<const TensorType> operands, int count) {
  const Shape& q = operands[0].shape;
  return 2.0 * count * static_cast<double>(element_count(q)) * static_cast<double>(operands[1].shape[1]);
}

// So many over the keys for each position of a query (scores and their gradient), over the positions for each key, and
// over the size of a head.
std::vector<ProductWork> head_products(std::span<const TensorType> operands, int scores, int contexts, int weights) {
  const Shape& query = operands[0].shape;
  const int64_t q = query[1], k = operands[1].shape[1], d = query[3], heads = query[0] * query[2];
  std::vector<ProductWork> products = {{q, k, d, scores * heads, false}, {q, d, k, contexts * heads, false}};
  if (weights > 0) products.push_back({k, d, q, weights * heads, true});
  return products;
}

int64_t scratch(std::span<const TensorType> operands, int threads) {
  const Shape& q = operands[0].shape;
  return attention_workspace_bytes(q[1], operands[1].shape[1], q[3], threads);
}

// (query, key, value, context, lse, d context [[, valid queries], valid keys]) -> (d query, d key, d value).
class AttentionGrad : public LabelledOp {
 public:
  std::string_view name() const override { return "attention_grad"; }
  bool is_matrix_product() const override { return true; }
  double flops(const Attributes&, std::span<const TensorType> operands, std::span<const TensorType>) const override {
    return product_flops(operands, 5);
  }
  std::vector<ProductWork> products(const Attributes&, std::span<const TensorType> operands,
                                    std::span<const TensorType>) const override {
    return head_products(operands, 2, 1, 2);
  }
  int64_t workspace_bytes(const Attributes&, std::span<const TensorType> operands, std::span<const TensorType>,
                          int threads) const override {
    return scratch(operands, threads);
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<AttentionAttributes>();
    const auto [query, key, lse] = attention_labels(operands);
    Labels labels{{query, key, key, query, lse, query}, {query, key, key}, "kd", false};
    add_mask(labels, operands.size());
    return labels;
  }
  bool takes(int operand, DType dtype) const override { return dtype == (operand < 6 ? DType::f32 : DType::i32); }
  double flops_per_element() const override { return 0; }
};

const AttentionGrad attention_grad;

// (query, key, value [[, valid queries], valid keys]) -> (context (b, q, h, d), log-sum-exp (b, h, q)).
class Attention : public LabelledOp {
 public:
  std::string_view name() const override { return "attention"; }
  bool is_matrix_product() const override { return true; }
  double flops(const Attributes&, std::span<const TensorType> operands, std::span<const TensorType>) const override {
    return product_flops(operands, 2);
  }
  std::vector<ProductWork> products(const Attributes&, std::span<const TensorType> operands,
                                    std::span<const TensorType>) const override {
    return head_products(operands, 1, 1, 0);
  }
  int64_t workspace_bytes(const Attributes&, std::span<const TensorType> operands, std::span<const TensorType>,
                          int threads) const override {
    return scratch(operands, threads);
  }

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    std::vector<ValueId> inputs{op.inputs[0],  op.inputs[1],  op.inputs[2],
                                op.outputs[0], op.outputs[1], context.result_cotangents[0]};
    inputs.insert(inputs.end(), op.inputs.begin() + 3, op.inputs.end());
    OpId grad = context.append(attention_grad, inputs, op.attributes);
    for (int i = 0; i < 3; ++i) context.operand_cotangents[i] = context.graph.ops[grad].outputs[i];
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<AttentionAttributes>();
    const auto [query, key, lse] = attention_labels(operands);
    Labels labels{{query, key, key}, {query, lse}, "kd", false};
    add_mask(labels, operands.size());
    return labels;
  }
  bool takes(int operand, DType dtype) const override { return dtype == (operand < 3 ? DType::f32 : DType::i32); }
  double flops_per_element() const override { return 0; }
};

const Attention attention;

}  // namespace

std::vector<const OpDefinition*> attention_ops() { return {&attention, &attention_grad}; }

}  // namespace shardscope
