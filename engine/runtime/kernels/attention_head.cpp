#include "engine/runtime/kernels/attention_head.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/align.h"
#include "engine/base/error.h"
#include "engine/ops/attention.h"
#include "engine/ops/workspace.h"

namespace shardscope {

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
  causal = arguments.attributes->as<AttentionAttributes>().causal;
  scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_size)));
}

int64_t AttentionShape::block() const { return std::min(queries, attention_query_block); }

int64_t AttentionShape::block_size(int64_t index) const { return std::min(block(), queries - index * block()); }

uint64_t AttentionShape::score_index(int64_t b, int64_t h, int64_t q) const {
  const int64_t head = (first_batch + b) * all_heads + first_head + h;
  return static_cast<uint64_t>((head * all_queries + first_query + q) * keys);
}

MatrixProductShape AttentionShape::heads_to_scores(int64_t rows) const {
  return {.m = rows,
          .n = keys,
          .k = head_size,
          .transpose_b = true,
          .lda = row_stride(),
          .ldb = key_row_stride(),
          .ldc = keys};
}

MatrixProductShape AttentionShape::scores_to_queries(int64_t rows) const {
  return {.m = rows, .n = head_size, .k = keys, .lda = keys, .ldb = key_row_stride(), .ldc = row_stride()};
}

MatrixProductShape AttentionShape::scores_to_keys(int64_t rows, bool accumulate) const {
  return {.m = keys,
          .n = head_size,
          .k = rows,
          .transpose_a = true,
          .lda = keys,
          .ldb = row_stride(),
          .ldc = key_row_stride(),
          .accumulate = accumulate};
}

AttentionMask::AttentionMask(const AttentionShape& shape, const KernelArguments& arguments, size_t first_mask,
                             float* bias)
    : shape_(shape), bias_(bias) {
  if (arguments.inputs.size() <= first_mask) return;
  valid_keys_ = arguments.inputs.back().i32();
  if (arguments.inputs.size() == first_mask + 2) valid_queries_ = arguments.inputs[first_mask].i32();
}

void AttentionMask::start_sequence(int64_t b) {
  sequence_ = b;
  first_allowed_ = shape_.keys;
  for (int64_t k = shape_.keys; k-- > 0;) {
    const bool allowed = !valid_keys_ || valid_keys_[b * shape_.keys + k] > 0;
    bias_[k] = allowed ? 0.0f : -std::numeric_limits<float>::infinity();
    if (allowed) first_allowed_ = k;
  }
}

int64_t AttentionMask::limit(int64_t q) const {
  return shape_.causal ? std::min(shape_.keys, shape_.first_query + q + 1) : shape_.keys;
}

bool AttentionMask::is_uniform(int64_t q) const {
  const bool blank = valid_queries_ && valid_queries_[sequence_ * shape_.queries + q] <= 0;
  return blank || first_allowed_ >= limit(q);
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
