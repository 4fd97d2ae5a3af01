#include "engine/ops/attention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/ops/labelled_op.h"
#include "engine/ops/workspace.h"

namespace shardscope {

std::string to_string(const AttentionAttributes& attributes) {
  std::string text = (attributes.causal ? "causal, " : "") + to_string(attributes.dropout);
  if (attributes.scale != 0) text += fmt::format(", scale={}", attributes.scale);
  if (attributes.window != 0) text += fmt::format(", window={}", attributes.window);
  if (attributes.soft_cap != 0) text += fmt::format(", soft_cap={}", attributes.soft_cap);
  if (!attributes.slopes.empty()) text += fmt::format(", slopes={}", fmt::join(attributes.slopes, " "));
  return text;
}

uint64_t hash_of(const AttentionAttributes& attributes) {
  return hash_of(attributes.dropout) + static_cast<uint64_t>(attributes.window);
}

int64_t attended_keys(const AttentionAttributes& attributes, int64_t keys) {
  if (attributes.window == 0) return keys;
  return std::min(keys, attributes.window + causal_attention_query_block - 1);
}

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

// A window, biases and caps are of attention without a mask of padding.
void check(const AttentionAttributes& attributes, std::span<const TensorType> operands, bool masked) {
  const auto refuse = [](std::string message, std::string hint) {
    throw Failure(Error{"attributes", std::move(message), "", std::move(hint)});
  };
  if (attributes.window < 0 || attributes.soft_cap < 0 || attributes.scale < 0) {
    refuse("a window, a cap or a scale below 0", "0 for none");
  }
  if (attributes.window > 0 && !attributes.causal) refuse("a window without a causal mask", "make it causal");
  const bool extended = attributes.window > 0 || attributes.soft_cap > 0 || !attributes.slopes.empty();
  if (extended && masked) refuse("a window, a soft cap or slopes beside a mask of padding", "without the mask");
  const bool heads = !operands.empty() && operands[0].shape.size() == 4;
  if (heads && !attributes.slopes.empty() && static_cast<int64_t>(attributes.slopes.size()) != operands[0].shape[2]) {
    refuse(fmt::format("{} slopes of {} heads", attributes.slopes.size(), operands[0].shape[2]), "one for each head");
  }
}

double product_flops(const Attributes& attributes, std::span<const TensorType> operands, int count) {
  const Shape& q = operands[0].shape;
  const int64_t keys = attended_keys(attributes.as<AttentionAttributes>(), operands[1].shape[1]);
  return 2.0 * count * static_cast<double>(element_count(q)) * static_cast<double>(keys);
}

// So many over the keys for each position of a query (scores and their gradient), over the positions for each key, and
// over the size of a head.
std::vector<ProductWork> head_products(const Attributes& attributes, std::span<const TensorType> operands, int scores,
                                       int contexts, int weights) {
  const Shape& query = operands[0].shape;
  const int64_t q = query[1], d = query[3], heads = query[0] * query[2];
  const int64_t k = attended_keys(attributes.as<AttentionAttributes>(), operands[1].shape[1]);
  std::vector<ProductWork> products = {{q, k, d, scores * heads, false}, {q, d, k, contexts * heads, false}};
  if (weights > 0) products.push_back({k, d, q, weights * heads, true});
  return products;
}

// A query sees the keys up to its own place: of as many queries as keys half, and half a row.
ScoreWork score_work(const Attributes& attributes, std::span<const TensorType> operands, std::string_view kernel) {
  const Shape& q = operands[0].shape;
  const auto& of = attributes.as<AttentionAttributes>();
  const auto keys = static_cast<double>(attended_keys(of, operands[1].shape[1]));
  ScoreWork work{static_cast<double>(q[0] * q[1] * q[2]) * keys, 0, kernel};
  if (of.causal && of.window == 0) work.masked = std::max(0.0, 0.5 - 0.5 / static_cast<double>(operands[1].shape[1]));
  return work;
}

int64_t scratch(const Attributes& attributes, std::span<const TensorType> operands, int threads) {
  const Shape& q = operands[0].shape;
  const int score_arrays = attributes.as<AttentionAttributes>().soft_cap > 0 ? 3 : 2;
  return attention_workspace_bytes(q[1], operands[1].shape[1], q[3], threads, score_arrays);
}

// What attention and its gradient have in common: products of queries and keys, of weights and values, and of weights,
// transposed, and queries, so many of each.
class AttentionOp : public LabelledOp {
 public:
  AttentionOp(std::string_view name, int scores, int contexts, int weights)
      : name_(name), scores_(scores), contexts_(contexts), weights_(weights) {}

  std::string_view name() const override { return name_; }
  std::string_view work_kind() const override { return "attention"; }
  bool is_matrix_product() const override { return true; }
  double flops(const Attributes& attributes, std::span<const TensorType> operands,
               std::span<const TensorType>) const override {
    return product_flops(attributes, operands, scores_ + contexts_ + weights_);
  }
  std::vector<ProductWork> products(const Attributes& attributes, std::span<const TensorType> operands,
                                    std::span<const TensorType>) const override {
    return head_products(attributes, operands, scores_, contexts_, weights_);
  }
  ScoreWork scores(const Attributes& attributes, std::span<const TensorType> operands) const override {
    return score_work(attributes, operands, name());
  }
  int64_t workspace_bytes(const Attributes& attributes, std::span<const TensorType> operands,
                          std::span<const TensorType>, int threads) const override {
    return scratch(attributes, operands, threads);
  }

 protected:
  double flops_per_element() const override { return 0; }

 private:
  std::string_view name_;
  int scores_, contexts_, weights_;
};

// (query, key, value, context, lse, d context [, d lse] [[, valid queries], valid keys])
// -> (d query, d key, d value). d lse, f32 (b, h, q), is what the log-sum-exp's uses give.
class AttentionGrad : public AttentionOp {
 public:
  AttentionGrad() : AttentionOp("attention_grad", 2, 1, 2) {}

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    const auto [query, key, lse] = attention_labels(operands);
    Labels labels{{query, key, key, query, lse, query}, {query, key, key}, "kd", false};
    if (operands.size() > 6 && operands[6].dtype == DType::f32) labels.operands.push_back(lse);
    check(attributes.as<AttentionAttributes>(), operands, operands.size() > labels.operands.size());
    add_mask(labels, operands.size());
    return labels;
  }
  bool takes(int operand, DType dtype) const override {
    return dtype == (operand < 6 ? DType::f32 : DType::i32) || (operand == 6 && dtype == DType::f32);
  }
};

const AttentionGrad attention_grad;

// (query, key, value [[, valid queries], valid keys]) -> (context (b, q, h, d), log-sum-exp (b, h, q)).
class Attention : public AttentionOp {
 public:
  Attention() : AttentionOp("attention", 1, 1, 0) {}

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    std::vector<ValueId> inputs{op.inputs[0],  op.inputs[1],  op.inputs[2],
                                op.outputs[0], op.outputs[1], context.result_cotangents[0]};
    if (context.result_cotangents[1] != no_id) inputs.push_back(context.result_cotangents[1]);
    inputs.insert(inputs.end(), op.inputs.begin() + 3, op.inputs.end());
    OpId grad = context.append(attention_grad, inputs, op.attributes);
    for (int i = 0; i < 3; ++i) context.operand_cotangents[i] = context.graph.ops[grad].outputs[i];
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    check(attributes.as<AttentionAttributes>(), operands, operands.size() > 3);
    const auto [query, key, lse] = attention_labels(operands);
    Labels labels{{query, key, key}, {query, lse}, "kd", false};
    add_mask(labels, operands.size());
    return labels;
  }
  bool takes(int operand, DType dtype) const override { return dtype == (operand < 3 ? DType::f32 : DType::i32); }
};

const Attention attention;

}  // namespace

std::vector<const OpDefinition*> attention_ops() { return {&attention, &attention_grad}; }

}  // namespace shardscope
