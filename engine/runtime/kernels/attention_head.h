#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "engine/runtime/kernels/dropout_mask.h"
#include "engine/runtime/kernels/kernel.h"
#include "engine/runtime/kernels/matrix_product.h"

namespace shardscope {

// What attention and its gradient share. One head of one sequence is worked on at a time, in blocks of query positions.
struct AttentionShape {
  int64_t batch, queries, keys, heads, key_heads, head_size;  // of the part held here
  int64_t first_batch, first_query, first_head;               // where that part starts
  int64_t all_batch, all_heads, all_queries;                  // of the whole array
  bool causal;
  float scale;  // 1 / sqrt(head_size)

  explicit AttentionShape(const KernelArguments& arguments);

  int64_t row_stride() const { return heads * head_size; }
  int64_t key_row_stride() const { return key_heads * head_size; }
  int64_t block() const;
  int64_t block_count() const { return (queries + block() - 1) / block(); }
  int64_t block_size(int64_t index) const;
  int64_t query_offset(int64_t b, int64_t h, int64_t q) const { return ((b * queries + q) * heads + h) * head_size; }
  // Of the key head that serves query head h: heads / key_heads query heads that follow each other share one.
  int64_t key_offset(int64_t b, int64_t h) const {
    return (b * keys * key_heads + h / (heads / key_heads)) * head_size;
  }
  // Row-major index in the whole (batch, heads, queries, keys) array of this row's first key.
  uint64_t score_index(int64_t b, int64_t h, int64_t q) const;
  int64_t all_scores() const { return all_batch * all_heads * all_queries * keys; }

  // (rows, d) x (keys, d)^T, (rows, keys) x (keys, d), (rows, keys)^T x (rows, d); heads are strided, scores dense.
  MatrixProductShape heads_to_scores(int64_t rows) const;
  MatrixProductShape scores_to_queries(int64_t rows) const;
  MatrixProductShape scores_to_keys(int64_t rows, bool accumulate) const;
};

// Which keys the queries of one sequence may see. Keys are masked by adding `bias` (0 or -infinity) to the scores.
class AttentionMask {
 public:
  // The inputs from `first_mask` on say what is valid: none; the keys; or the queries and the keys.
  AttentionMask(const AttentionShape& shape, const KernelArguments& arguments, size_t first_mask, float* bias);

  void start_sequence(int64_t b);
  // Keys that a causal mask leaves to this query: those before the limit.
  int64_t limit(int64_t q) const;
  // No key is allowed: scores are all equal then, as in flax.linen, and every key counts, later ones too.
  bool is_uniform(int64_t q) const;
  const float* bias() const { return bias_; }

 private:
  AttentionShape shape_;
  const int32_t* valid_queries_ = nullptr;
  const int32_t* valid_keys_ = nullptr;
  float* bias_;
  int64_t sequence_ = 0;
  int64_t first_allowed_ = 0;
};

// Masks the scores behind `limit` up to the next whole vector, and returns where that ends: what loops run to then.
[[gnu::always_inline]] inline int64_t close_row(float* scores, int64_t limit, int64_t keys) {
  const int64_t rounded = (limit + 15) / 16 * 16;
  const int64_t end = rounded < keys ? rounded : keys;
  for (int64_t k = limit; k < end; ++k) scores[k] = -std::numeric_limits<float>::infinity();
  return end;
}

// A thread's part of a workspace, handed out in 64-byte aligned pieces of floats.
class WorkspaceCursor {
 public:
  WorkspaceCursor(void* begin, int64_t bytes) : next_(static_cast<char*>(begin)), left_(bytes) {}
  // The part of a kernel's workspace that one of its threads has.
  WorkspaceCursor(const KernelArguments& arguments, int thread);
  // Throws Failure (code workspace) when too little is left.
  float* take(int64_t count);
  void* rest() const { return next_; }
  int64_t left() const { return left_; }

 private:
  char* next_;
  int64_t left_;
};

}  // namespace shardscope
