#include "engine/ops/ring_attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/align.h"
#include "engine/base/error.h"
#include "engine/ops/equation.h"
#include "engine/ops/labelled_op.h"
#include "engine/ops/registry.h"
#include "engine/ops/workspace.h"

namespace shardscope {

std::string to_string(const RingAttributes& a) {
  return fmt::format("blocks={} of {}, step={}, {}", a.blocks, a.length, a.step, to_string(a.attention));
}
uint64_t hash_of(const RingAttributes& a) {
  return hash_of(a.attention) + static_cast<uint64_t>(a.blocks * 1024 + a.step);
}
std::string to_string(const RollAttributes& a) { return fmt::format("blocks={}, shift={}", a.blocks, a.shift); }

namespace {

class Roll : public LabelledOp {
 public:
  std::string_view name() const override { return "roll"; }
  std::string_view work_kind() const override { return "attention"; }

  void gradient(GradientContext& context) const override {
    auto attributes = context.graph.ops[context.op].attributes.as<RollAttributes>();
    attributes.shift = -attributes.shift;
    context.operand_cotangents[0] = context.append_value(*this, {context.result_cotangents[0]}, attributes);
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    const auto& a = attributes.as<RollAttributes>();
    if (operands.empty() || operands[0].shape.size() < 2 || a.blocks < 1) {
      throw Failure(Error{"attributes", to_string(a), "", "blocks of the second dimension"});
    }
    const std::string all = "b(cl)" + std::string("defghi").substr(0, operands[0].shape.size() - 2);
    Labels labels{{all}, {all}, "", /*linear=*/true, {}, {{'c', a.blocks}}};
    labels.rings = {{'c', a.shift}};
    return labels;
  }
  bool takes(int, DType dtype) const override { return dtype != DType::bf16; }
  DType result_dtype(int, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[0].dtype;
  }
  double flops_per_element() const override { return 0; }
};

const Roll roll;

const RingAttributes& checked_ring(const Attributes& attributes, std::span<const TensorType> operands) {
  const auto& a = attributes.as<RingAttributes>();
  const bool ranks = operands.size() > 2 && operands[0].shape.size() == 4 && operands[1].shape.size() == 4;
  const bool blocks = a.blocks >= 1 && a.step >= 0 && a.step < a.blocks;
  if (!ranks || !blocks || operands[0].shape[1] != a.length || a.length % (2 * a.blocks) != 0) {
    throw Failure(Error{"attributes", to_string(a), "", "a sequence of twice as many chunks as blocks"});
  }
  if (!a.attention.causal || a.attention.dropout.rate > 0) {
    throw Failure(Error{"attributes", to_string(a), "", "causal attention without dropout"});
  }
  if (operands[1].shape[2] < 1 || operands[0].shape[2] % operands[1].shape[2] != 0) {
    throw Failure(Error{"shape", "query heads are not a multiple of key heads", "", ""});
  }
  return a;
}

struct RingLabels {
  std::string query = "b(cl)(gr)d", key = "b(cm)gd", lse = "b(gr)(cl)", whole = "lmd";
};

std::vector<std::pair<char, int64_t>> ring_sizes(const RingAttributes& a, std::span<const TensorType> operands) {
  return {{'c', a.blocks}, {'r', operands[0].shape[2] / operands[1].shape[2]}};
}

int64_t block_length(const Attributes& attributes) {
  const auto& a = attributes.as<RingAttributes>();
  return a.length / a.blocks;
}

// In each step half of the pairs of a query and a key of their blocks: all queries and the keys of one chunk, or the
// queries of one and all keys; at first three chunks of four but for what is behind each query.
double seen_pairs(const Attributes& attributes, std::span<const TensorType> operands) {
  const Shape& query = operands[0].shape;
  return static_cast<double>(query[0] * query[1] * query[2]) * static_cast<double>(block_length(attributes)) / 2;
}

std::vector<ProductWork> ring_products(const Attributes& attributes, std::span<const TensorType> operands, int scores,
                                       int contexts, int weights) {
  const Shape& query = operands[0].shape;
  const int64_t half = std::max<int64_t>(1, block_length(attributes) / 2), heads = query[0] * query[2];
  std::vector<ProductWork> products = {{query[1], half, query[3], scores * heads, false},
                                       {query[1], query[3], half, contexts * heads, false}};
  if (weights > 0) products.push_back({half, query[3], query[1], weights * heads, true});
  return products;
}

// Scores of a tile of queries, as many arrays of them, sums of its rows, and Eigen's blocks, for each thread.
int64_t ring_workspace(const Attributes& attributes, int threads, int arrays) {
  const auto floats = [](int64_t count) { return round_up(count * static_cast<int64_t>(sizeof(float))); };
  return threads * (arrays * floats(attention_query_block * block_length(attributes)) + floats(attention_query_block) +
                    floats(2 * 512 * 512));
}

// (query, key, value, context, lse, d context [, d lse]) -> (d query, d key, d value), of block i and i - step alone.
class AttentionBlockGrad : public LabelledOp {
 public:
  std::string_view name() const override { return "attention_block_grad"; }
  std::string_view work_kind() const override { return "attention"; }
  bool is_matrix_product() const override { return true; }
  double flops(const Attributes& attributes, std::span<const TensorType> operands,
               std::span<const TensorType>) const override {
    return 2.0 * 5 * seen_pairs(attributes, operands) * static_cast<double>(operands[0].shape[3]);
  }
  std::vector<ProductWork> products(const Attributes& attributes, std::span<const TensorType> operands,
                                    std::span<const TensorType>) const override {
    return ring_products(attributes, operands, 2, 1, 2);
  }
  ScoreWork scores(const Attributes& attributes, std::span<const TensorType> operands) const override {
    return {seen_pairs(attributes, operands), 0, "attention_grad"};
  }
  int64_t workspace_bytes(const Attributes& attributes, std::span<const TensorType>, std::span<const TensorType>,
                          int threads) const override {
    return ring_workspace(attributes, threads, 3);
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    const RingAttributes& a = checked_ring(attributes, operands);
    const RingLabels of;
    Labels labels{{of.query, of.key, of.key, of.query, of.lse, of.query},
                  {of.query, of.key, of.key},
                  of.whole,
                  false,
                  {},
                  ring_sizes(a, operands)};
    if (operands.size() == 7) labels.operands.push_back(of.lse);
    return labels;
  }
  double flops_per_element() const override { return 0; }
};

const AttentionBlockGrad attention_block_grad;

// (query, key, value) -> (context (b, q, h, d), log-sum-exp (b, h, q)).
class AttentionBlock : public LabelledOp {
 public:
  std::string_view name() const override { return "attention_block"; }
  std::string_view work_kind() const override { return "attention"; }
  bool is_matrix_product() const override { return true; }
  double flops(const Attributes& attributes, std::span<const TensorType> operands,
               std::span<const TensorType>) const override {
    return 2.0 * 2 * seen_pairs(attributes, operands) * static_cast<double>(operands[0].shape[3]);
  }
  std::vector<ProductWork> products(const Attributes& attributes, std::span<const TensorType> operands,
                                    std::span<const TensorType>) const override {
    return ring_products(attributes, operands, 1, 1, 0);
  }
  ScoreWork scores(const Attributes& attributes, std::span<const TensorType> operands) const override {
    return {seen_pairs(attributes, operands), 0, "attention"};
  }
  int64_t workspace_bytes(const Attributes& attributes, std::span<const TensorType>, std::span<const TensorType>,
                          int threads) const override {
    return ring_workspace(attributes, threads, 1);
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    const RingAttributes& a = checked_ring(attributes, operands);
    const RingLabels of;
    return {{of.query, of.key, of.key}, {of.query, of.lse}, of.whole, false, {}, ring_sizes(a, operands)};
  }
  double flops_per_element() const override { return 0; }
};

const AttentionBlock attention_block;

// (context (b, q, h, d), lse (b, h, q), another context, its lse) -> (context, lse).
class MergeAttention : public LabelledOp {
 public:
  std::string_view name() const override { return "merge_attention"; }
  std::string_view work_kind() const override { return "attention"; }
  int in_place_operand(int result) const override { return result; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType>) const override {
    return {{"bqhd", "bhq", "bqhd", "bhq"}, {"bqhd", "bhq"}, "d", false};
  }
  double flops_per_element() const override { return 3; }
};

const MergeAttention merge_attention;

// (query, key, value, context, lse) -> (context, lse).
class RingAttention : public LabelledOp {
 public:
  std::string_view name() const override { return "ring_attention"; }
  std::string_view work_kind() const override { return "attention"; }
  bool touches_memory() const override { return false; }
  int in_place_operand(int result) const override { return 3 + result; }

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    auto attributes = op.attributes.as<RingAttributes>();
    const auto add = [&](ValueId a, ValueId b, const char* leaf) {
      return context.append_value(op_definition("add"), {a, b}, sum_attributes(context.graph.type(a)), leaf);
    };
    const auto pass_on = [&](ValueId x, const char* leaf) {
      return context.append_value(roll, {x}, RollAttributes{attributes.blocks, 1}, leaf);
    };
    ValueId key = op.inputs[1], value = op.inputs[2];
    std::vector<ValueId> sums;
    for (attributes.step = 0; attributes.step < attributes.blocks; ++attributes.step) {
      std::vector<ValueId> inputs{op.inputs[0], key, value, op.outputs[0], op.outputs[1], context.result_cotangents[0]};
      if (context.result_cotangents[1] != no_id) inputs.push_back(context.result_cotangents[1]);
      const bool last = attributes.step + 1 == attributes.blocks;
      if (!last) key = pass_on(key, "roll_key"), value = pass_on(value, "roll_value");
      const OpId grad = context.append(attention_block_grad, inputs, attributes);
      const std::vector<ValueId> made = context.graph.ops[grad].outputs;
      if (sums.empty()) {
        sums = made;
      } else {
        for (size_t i = 0; i < 3; ++i) sums[i] = add(sums[i], made[i], i == 0 ? "add_query" : "add_key");
      }
      if (attributes.blocks == 1) break;
      sums[1] = pass_on(sums[1], "roll_key_grad");
      sums[2] = pass_on(sums[2], "roll_value_grad");
    }
    for (size_t i = 0; i < 3; ++i) context.operand_cotangents[i] = sums[i];
    context.operand_cotangents[3] = context.operand_cotangents[4] = GradientContext::none;
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    const RingAttributes& a = checked_ring(attributes, operands);
    const RingLabels of;
    return {
        {of.query, of.key, of.key, of.query, of.lse}, {of.query, of.lse}, of.whole, false, {}, ring_sizes(a, operands)};
  }
  double flops_per_element() const override { return 0; }
};

const RingAttention ring_attention;

}  // namespace

std::vector<const OpDefinition*> ring_attention_ops() {
  return {&roll, &attention_block, &attention_block_grad, &merge_attention, &ring_attention};
}

}  // namespace shardscope
