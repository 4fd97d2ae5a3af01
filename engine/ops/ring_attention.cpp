#include "engine/ops/ring_attention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "engine/base/align.h"
#include "engine/base/error.h"
#include "engine/ops/constant.h"
#include "engine/ops/equation.h"
#include "engine/ops/joining_op.h"
#include "engine/ops/registry.h"
#include "engine/ops/stated_op.h"
#include "engine/ops/workspace.h"

namespace shardscope {

std::string to_string(const RingAttributes& a) {
  return fmt::format("blocks={} of {}, step={}{}, {}", a.blocks, a.length, a.step,
                     a.half < 0 ? "" : fmt::format(", half={}", a.half), to_string(a.attention));
}
uint64_t hash_of(const RingAttributes& a) {
  return hash_of(a.attention) + static_cast<uint64_t>(a.blocks * 1024 + 4 * a.step + a.half + 1);
}
std::string to_string(const RollAttributes& a) {
  return fmt::format("blocks={}, shift={}{}", a.blocks, a.shift,
                     a.receivers.empty() ? "" : fmt::format(", to {}", fmt::join(a.receivers, " ")));
}
std::string to_string(const BlockAttributes& a) { return fmt::format("blocks={}", a.blocks); }

bool sees_chunk(const RingAttributes& a, int64_t query_chunk, int64_t key_chunk) {
  if (key_chunk >= query_chunk) return key_chunk == query_chunk;
  const int64_t nearest = (query_chunk - key_chunk - 1) * (a.length / a.blocks / 2) + 1;
  return a.attention.window == 0 || nearest < a.attention.window;
}

std::vector<SeenHalf> seen_halves(const RingAttributes& a) {
  std::vector<SeenHalf> seen;
  for (int64_t step = 1; step < a.blocks; ++step) {
    for (int64_t half : {0, 1}) {
      SeenHalf one{step, half, {}};
      for (int64_t block = 0; block < a.blocks; ++block) {
        const int64_t of = (block - step + a.blocks) % a.blocks, key = half == 0 ? of : 2 * a.blocks - 1 - of;
        if (sees_chunk(a, block, key) || sees_chunk(a, 2 * a.blocks - 1 - block, key)) one.receivers.push_back(block);
      }
      if (!one.receivers.empty()) seen.push_back(std::move(one));
    }
  }
  return seen;
}

bool sends_halves(const RingAttributes& a) {
  return a.blocks > 1 && a.attention.window > 0 && a.attention.window < a.length;
}

namespace {

// Brings back to each block what it has sent.
RollAttributes inverse(RollAttributes roll) {
  for (int64_t& receiver : roll.receivers) {
    receiver = ((receiver - roll.shift) % roll.blocks + roll.blocks) % roll.blocks;
  }
  std::ranges::sort(roll.receivers);
  roll.shift = -roll.shift;
  return roll;
}

class Roll : public LabelledOp {
 public:
  std::string_view name() const override { return "roll"; }
  std::string_view work_kind() const override { return "attention"; }

  void gradient(GradientContext& context) const override {
    const auto& there = context.graph.ops[context.op].attributes.as<RollAttributes>();
    context.operand_cotangents[0] = context.append_value(*this, {context.result_cotangents[0]}, inverse(there));
  }
  std::vector<int64_t> ring_receivers(const Attributes& attributes) const override {
    return attributes.as<RollAttributes>().receivers;
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    const auto& a = attributes.as<RollAttributes>();
    const auto is_block = [&](int64_t block) { return block >= 0 && block < a.blocks; };
    if (operands.empty() || operands[0].shape.size() < 2 || a.blocks < 1 || !std::ranges::is_sorted(a.receivers) ||
        !std::ranges::all_of(a.receivers, is_block)) {
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

class HalvesOp : public JoiningOp {
 public:
  std::string_view work_kind() const override { return "attention"; }

 protected:
  // Letters of an array of whole blocks, and of one of halves.
  struct Letters {
    std::string whole, half;
    std::vector<std::pair<char, int64_t>> sizes;
  };
  static Letters letters(const Attributes& attributes, std::span<const TensorType> operands, bool halves) {
    const auto& a = attributes.as<BlockAttributes>();
    const size_t rank = operands.empty() ? 0 : operands[0].shape.size();
    if (rank < 2 || rank > 8 || a.blocks < 1 || operands[0].shape[1] % (halves ? a.blocks : 2 * a.blocks) != 0) {
      throw Failure(Error{"attributes", to_string(a), "", "blocks of an even size of the second dimension"});
    }
    const std::string rest = std::string("defgij").substr(0, rank - 2);
    return {"b(chl)" + rest, "b(cl)" + rest, {{'c', a.blocks}, {'h', 2}}};
  }
  bool takes(int, DType dtype) const override { return dtype == DType::f32; }
};

// Two arrays of halves of blocks -> one.
class JoinHalves : public HalvesOp {
 public:
  std::string_view name() const override { return "join_halves"; }
  void gradient(GradientContext& context) const override;

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    const Letters l = letters(attributes, operands, true);
    return {{l.half, l.half}, {l.whole}, "hl", true, {}, l.sizes};
  }
};

// One array -> the first halves of its blocks, and the second ones.
class BlockHalves : public HalvesOp {
 public:
  std::string_view name() const override { return "block_halves"; }
  bool is_view() const override { return true; }
  void gradient(GradientContext& context) const override;

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    const Letters l = letters(attributes, operands, false);
    return {{l.whole}, {l.half, l.half}, "hl", true, {}, l.sizes};
  }
};

const JoinHalves join_halves;
const BlockHalves block_halves;

void JoinHalves::gradient(GradientContext& context) const { take_apart(block_halves, context); }
void BlockHalves::gradient(GradientContext& context) const { put_together(join_halves, context); }

const RingAttributes& checked_ring(const Attributes& attributes, std::span<const TensorType> operands) {
  const auto& a = attributes.as<RingAttributes>();
  const bool ranks = operands.size() > 2 && operands[0].shape.size() == 4 && operands[1].shape.size() == 4;
  const bool blocks = a.blocks >= 1 && a.step >= 0 && a.step < a.blocks && a.half >= -1 && a.half <= 1;
  const bool keys = ranks && operands[1].shape[1] == (a.half < 0 ? a.length : a.length / 2);
  if (!keys || !blocks || operands[0].shape[1] != a.length || a.length % (2 * a.blocks) != 0) {
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

// Of a block of keys.
int64_t block_length(const Attributes& attributes) {
  const auto& a = attributes.as<RingAttributes>();
  return a.length / a.blocks / (a.half < 0 ? 1 : 2);
}

// Pairs of a query and a key, of chunks that begin so many positions apart, of which the query is at most `behind`
// before the key.
double pairs_up_to(int64_t behind, int64_t apart, int64_t chunk) {
  const auto c = static_cast<double>(chunk), m = static_cast<double>(std::clamp(behind - apart, -chunk, chunk));
  return m < 0 ? (m + c) * (m + c + 1) / 2 : c * (c + 1) / 2 + m * c - m * (m + 1) / 2;
}

// How many keys a query sees, on average over all blocks. Without a window half of the pairs of a query and a key of
// their blocks: all queries and the keys of one chunk, or the queries of one and all keys; at first three chunks of
// four but for what is behind each query.
double seen_keys(const Attributes& attributes) {
  const auto& a = attributes.as<RingAttributes>();
  if (a.attention.window == 0) return static_cast<double>(block_length(attributes)) / 2;
  const int64_t chunk = a.length / a.blocks / 2, last = 2 * a.blocks - 1;
  double pairs = 0;
  for (int64_t block = 0; block < a.blocks; ++block) {
    const int64_t of = (block - a.step + a.blocks) % a.blocks;
    for (int64_t query : {block, last - block}) {
      for (int64_t half = std::max<int64_t>(a.half, 0); half <= (a.half < 0 ? 1 : a.half); ++half) {
        const int64_t apart = (query - (half == 0 ? of : last - of)) * chunk;
        pairs += pairs_up_to(a.attention.window - 1, apart, chunk) - pairs_up_to(-1, apart, chunk);
      }
    }
  }
  return pairs / static_cast<double>(a.length);
}

double seen_pairs(const Attributes& attributes, std::span<const TensorType> operands) {
  const Shape& query = operands[0].shape;
  return static_cast<double>(query[0] * query[1] * query[2]) * seen_keys(attributes);
}

std::vector<ProductWork> ring_products(const Attributes& attributes, std::span<const TensorType> operands, int scores,
                                       int contexts, int weights) {
  const Shape& query = operands[0].shape;
  const int64_t keys = std::max<int64_t>(1, static_cast<int64_t>(seen_keys(attributes))), heads = query[0] * query[2];
  std::vector<ProductWork> products = {{query[1], keys, query[3], scores * heads, false},
                                       {query[1], query[3], keys, contexts * heads, false}};
  if (weights > 0) products.push_back({keys, query[3], query[1], weights * heads, true});
  return products;
}

// Scores of a tile of queries, as many arrays of them, sums of its rows, and Eigen's blocks, for each thread.
int64_t ring_workspace(const Attributes& attributes, int threads, int arrays) {
  const auto floats = [](int64_t count) { return round_up(count * static_cast<int64_t>(sizeof(float))); };
  return threads * (arrays * floats(attention_query_block * block_length(attributes)) + floats(attention_query_block) +
                    floats(2 * 512 * 512));
}

// Attention of block i of queries and i - step of keys alone, or its gradient: with so many products as AttentionOp
// has, of the kernel of whole attention, and so many arrays of scores.
class BlockOp : public LabelledOp {
 public:
  BlockOp(std::string_view name, std::string_view kernel, int scores, int contexts, int weights, int arrays)
      : name_(name), kernel_(kernel), scores_(scores), contexts_(contexts), weights_(weights), arrays_(arrays) {}

  std::string_view name() const override { return name_; }
  std::string_view work_kind() const override { return "attention"; }
  bool is_matrix_product() const override { return true; }
  double flops(const Attributes& attributes, std::span<const TensorType> operands,
               std::span<const TensorType>) const override {
    return 2.0 * (scores_ + contexts_ + weights_) * seen_pairs(attributes, operands) *
           static_cast<double>(operands[0].shape[3]);
  }
  std::vector<ProductWork> products(const Attributes& attributes, std::span<const TensorType> operands,
                                    std::span<const TensorType>) const override {
    return ring_products(attributes, operands, scores_, contexts_, weights_);
  }
  ScoreWork scores(const Attributes& attributes, std::span<const TensorType> operands) const override {
    return {seen_pairs(attributes, operands), 0, kernel_};
  }
  int64_t workspace_bytes(const Attributes& attributes, std::span<const TensorType>, std::span<const TensorType>,
                          int threads) const override {
    return ring_workspace(attributes, threads, arrays_);
  }

 protected:
  double flops_per_element() const override { return 0; }

 private:
  std::string_view name_, kernel_;
  int scores_, contexts_, weights_, arrays_;
};

// (query, key, value, context, lse, d context [, d lse]) -> (d query, d key, d value), of block i and i - step alone.
class AttentionBlockGrad : public BlockOp {
 public:
  AttentionBlockGrad() : BlockOp("attention_block_grad", "attention_grad", 2, 1, 2, 3) {}

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
};

const AttentionBlockGrad attention_block_grad;

// (query, key, value) -> (context (b, q, h, d), log-sum-exp (b, h, q)).
class AttentionBlock : public BlockOp {
 public:
  AttentionBlock() : BlockOp("attention_block", "attention", 1, 1, 0, 1) {}

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    const RingAttributes& a = checked_ring(attributes, operands);
    const RingLabels of;
    return {{of.query, of.key, of.key}, {of.query, of.lse}, of.whole, false, {}, ring_sizes(a, operands)};
  }
};

const AttentionBlock attention_block;

// (context (b, q, h, d), lse (b, h, q), another context, its lse) -> (context, lse).
const StatedOp merge_attention({.name = "merge_attention",
                                .work_kind = "attention",
                                .equation = "bqhd,bhq,bqhd,bhq->bqhd,bhq",
                                .whole = "d",
                                .flops = 3,
                                .in_place = {0, 1}});

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
    if (sends_halves(attributes)) return gradient_by_halves(context, attributes);
    const auto add = [&](ValueId a, ValueId b, const char* leaf) { return sum(context, a, b, leaf); };
    const auto pass_on = [&](ValueId x, const char* leaf) {
      return context.append_value(roll, {x}, RollAttributes{attributes.blocks, 1}, leaf);
    };
    ValueId key = op.inputs[1], value = op.inputs[2];
    std::vector<ValueId> sums;
    for (attributes.step = 0; attributes.step < attributes.blocks; ++attributes.step) {
      const std::array<ValueId, 2> inputs{key, value};
      const bool last = attributes.step + 1 == attributes.blocks;
      if (!last) key = pass_on(key, "roll_key"), value = pass_on(value, "roll_value");
      const std::vector<ValueId> made = gradients(context, inputs, attributes);
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

 private:
  static ValueId sum(GradientContext& context, ValueId a, ValueId b, const char* leaf) {
    return context.append_value(op_definition("add"), {a, b}, sum_attributes(context.graph.type(a)), leaf);
  }

  // d query, d key and d value, of these keys and values alone.
  static std::vector<ValueId> gradients(GradientContext& context, const std::array<ValueId, 2>& keys_and_values,
                                        const RingAttributes& attributes) {
    const Op op = context.graph.ops[context.op];
    std::vector<ValueId> inputs{op.inputs[0],  keys_and_values[0], keys_and_values[1],
                                op.outputs[0], op.outputs[1],      context.result_cotangents[0]};
    if (context.result_cotangents[1] != no_id) inputs.push_back(context.result_cotangents[1]);
    return context.graph.ops[context.append(attention_block_grad, inputs, attributes)].outputs;
  }

  // Each half is sent to where it is seen, and its gradient back.
  static void gradient_by_halves(GradientContext& context, RingAttributes attributes) {
    const Op op = context.graph.ops[context.op];
    const BlockAttributes blocks{attributes.blocks};
    std::array<std::vector<ValueId>, 2> halves;  // of keys and of values
    std::array<std::array<ValueId, 2>, 2> back;  // likewise, sums of what comes back for each half
    const std::vector<SeenHalf> seen = seen_halves(attributes);
    std::vector<ValueId> sums = gradients(context, {op.inputs[1], op.inputs[2]}, attributes);
    for (size_t i = 0; i < 2 && !seen.empty(); ++i) {
      halves[i] = context.graph.ops[context.append(block_halves, {op.inputs[i + 1]}, blocks, "halves")].outputs;
      back[i] = {no_id, no_id};
    }
    for (const SeenHalf& one : seen) {
      const auto half = static_cast<size_t>(one.half);
      const RollAttributes there{attributes.blocks, one.step, one.receivers};
      const RollAttributes home = inverse(there);
      attributes.step = one.step, attributes.half = one.half;
      const std::array<ValueId, 2> sent{context.append_value(roll, {halves[0][half]}, there, "send_key"),
                                        context.append_value(roll, {halves[1][half]}, there, "send_value")};
      const std::vector<ValueId> made = gradients(context, sent, attributes);
      sums[0] = sum(context, sums[0], made[0], "add_query");
      for (size_t i = 0; i < 2; ++i) {
        const ValueId got =
            context.append_value(roll, {made[i + 1]}, home, i == 0 ? "send_key_grad" : "send_value_grad");
        back[i][half] = back[i][half] == no_id ? got : sum(context, back[i][half], got, "add_half");
      }
    }
    for (size_t i = 0; i < 2 && !seen.empty(); ++i) {
      for (size_t half = 0; half < 2; ++half) {
        if (back[i][half] != no_id) continue;
        const TensorType& type = context.graph.type(halves[i][half]);
        back[i][half] = context.append_value(op_definition("constant"), {}, ConstantAttributes{0, type}, "zeros");
      }
      const ValueId joined = context.append_value(join_halves, {back[i][0], back[i][1]}, blocks, "join");
      sums[i + 1] = sum(context, sums[i + 1], joined, "add_key");
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
  return {&roll,          &block_halves, &join_halves, &attention_block, &attention_block_grad, &merge_attention,
          &ring_attention};
}

}  // namespace shardscope
