#include "engine/runtime/kernels/attention_head.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/base/align.h"
#include "engine/base/error.h"
#include "engine/base/instruction_set.h"
#include "engine/ops/attention.h"

namespace shardscope {

extern const AttentionLoops attention_loops_baseline, attention_loops_v3, attention_loops_v4;

AttentionShape::AttentionShape(const KernelArguments& arguments) {
  const TensorView &query = arguments.inputs[0], &key = arguments.inputs[1];
  batch = query.shape[0];
  queries = query.shape[1];
  heads = query.shape[2];
  head_size = query.shape[3];
  keys = key.shape[1];
  first_batch = query.offset[0];
  first_query = query.offset[1];
  first_head = query.offset[2];
  all_batch = query.global_shape[0];
  all_queries = query.global_shape[1];
  all_heads = query.global_shape[2];
  key_heads = key.shape[2];
  const AttentionAttributes& attributes = arguments.attributes->as<AttentionAttributes>();
  causal = attributes.causal;
  window = attributes.window;
  scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_size)));
  query_factor = static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(head_size)));
  if (attributes.scale > 0) {
    scale = static_cast<float>(attributes.scale);
    query_factor = static_cast<float>(attributes.scale * std::numbers::log2e);
  }
}

int64_t AttentionShape::block() const {
  return std::min(queries, causal ? causal_attention_query_block : attention_query_block);
}

int64_t AttentionShape::block_size(int64_t index) const { return std::min(block(), queries - index * block()); }

AttentionShape::Block AttentionShape::after(Block block) const {
  if (++block.index < block_count()) return block;
  if (++block.h < heads) return {block.b, block.h, 0};
  return {block.b + 1, 0, 0};
}

Prefetch AttentionShape::prefetch_queries(Block next, const float* first, const float* second) const {
  if (next.b == batch) return {};
  const int64_t at = query_offset(next.b, next.h, next.index * block());
  return {first + at, second + at, row_stride(), block_size(next.index), head_size};
}

Prefetch AttentionShape::prefetch_keys(Block next, const float* first, const float* second) const {
  constexpr int64_t most = 16384;  // floats: a quarter of a small second-level cache, with both arrays
  if (next.b == batch || next.index > 0 || keys * head_size > most) return {};
  const int64_t at = key_offset(next.b, next.h);
  return {first + at, second + at, key_row_stride(), keys, head_size};
}

uint64_t AttentionShape::score_index(int64_t b, int64_t h, int64_t q) const {
  const int64_t head = (first_batch + b) * all_heads + first_head + h;
  return static_cast<uint64_t>((head * all_queries + first_query + q) * keys);
}

AttentionMask::AttentionMask(const AttentionShape& shape, const KernelArguments& arguments, size_t first_mask)
    : shape_(shape) {
  if (arguments.inputs.size() <= first_mask) return;
  valid_keys_ = arguments.inputs.back().i32();
  if (arguments.inputs.size() == first_mask + 2) valid_queries_ = arguments.inputs[first_mask].i32();
}

void AttentionMask::start_sequence(int64_t b) {
  sequence_ = b;
  first_allowed_ = 0;
  while (valid_keys_ && first_allowed_ < shape_.keys && valid_keys_[b * shape_.keys + first_allowed_] <= 0) {
    ++first_allowed_;
  }
}

int64_t AttentionMask::limit(int64_t q) const {
  return shape_.causal ? std::min(shape_.keys, shape_.first_query + q + 1) : shape_.keys;
}

bool AttentionMask::is_uniform(int64_t q) const {
  const bool blank = valid_queries_ && valid_queries_[sequence_ * shape_.queries + q] <= 0;
  return blank || first_allowed_ >= limit(q);
}

int64_t AttentionMask::last_limit(int64_t first, int64_t count) const {
  for (int64_t q = first; hides_all() && q < first + count; ++q) {
    if (is_uniform(q)) return shape_.keys;
  }
  return limit(first + count - 1);
}

TransposedScores AttentionMask::layout(float* scores, int64_t first, int64_t count) const {
  const int64_t first_key = shape_.first_key(first);
  return {.scores = scores,
          .row = shape_.score_row(),
          .keys = last_limit(first, count) - first_key,
          .first_limit = (shape_.causal ? shape_.first_query + first + 1 : shape_.keys) - first_key,
          .valid_keys = valid_keys_ ? valid_keys_ + sequence_ * shape_.keys : nullptr};
}

KeptWeights::KeptWeights(const AttentionShape& shape, const KernelArguments& arguments) : keys_(shape.keys) {
  const bool drops = arguments.attributes->as<AttentionAttributes>().dropout.rate > 0;
  if (drops) kept_.resize(static_cast<size_t>(shape.block() * shape.keys));
}

void KeptWeights::draw(const DropoutMask& dropout, const AttentionShape& shape, int64_t b, int64_t h,
                       int64_t first_query, int64_t queries) {
  for (int64_t i = 0; i < queries; ++i) {
    dropout.fill(shape.score_index(b, h, first_query + i),
                 std::span(kept_).subspan(static_cast<size_t>(i * keys_), static_cast<size_t>(keys_)));
  }
}

void KeptWeights::apply(float factor, int64_t queries, const TransposedScores& layout, float* scores) const {
  for (int64_t k = 0; k < layout.keys; ++k) {
    float* row = scores + k * layout.row;
    for (int64_t i = 0; i < queries; ++i) row[i] = kept_[static_cast<size_t>(i * keys_ + k)] ? row[i] * factor : 0.0f;
  }
}

const AttentionLoops& attention_loops() {
#if defined(__x86_64__)
  if (used_instruction_set() >= InstructionSet::v4) return attention_loops_v4;
  if (used_instruction_set() >= InstructionSet::v3) return attention_loops_v3;
#endif
  return attention_loops_baseline;
}

WorkspaceCursor::WorkspaceCursor(const KernelArguments& arguments, int thread)
    : left_(aligned_share(arguments.workspace_bytes, arguments.threads)) {
  next_ = static_cast<char*>(arguments.workspace) + thread * left_;
}

float* WorkspaceCursor::take(int64_t count) {
  const int64_t bytes = round_up(count * static_cast<int64_t>(sizeof(float)));
  if (bytes > left_) throw Failure(Error{"workspace", "the workspace of attention is too small", "", ""});
  float* piece = reinterpret_cast<float*>(next_);
  next_ += bytes;
  left_ -= bytes;
  return piece;
}

}  // namespace shardscope
