#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/ops/workspace.h"
#include "engine/runtime/kernels/attention_loops.h"
#include "engine/runtime/kernels/dropout_mask.h"
#include "engine/runtime/kernels/kernel.h"

namespace shardscope {

// What attention and its gradient share. One head of one sequence is worked on at a time, in blocks of query positions.
struct AttentionShape {
  int64_t batch, queries, keys, heads, key_heads, head_size;  // of the part held here
  int64_t first_batch, first_query, first_head;               // where that part starts
  int64_t all_batch, all_heads, all_queries;                  // of the whole array
  bool causal;
  int64_t window;      // 0: none
  float scale;         // 1 / sqrt(head_size), unless the attributes say another
  float query_factor;  // the same times log2(e)

  explicit AttentionShape(const KernelArguments& arguments);

  int64_t row_stride() const { return heads * head_size; }
  int64_t key_row_stride() const { return key_heads * head_size; }
  int64_t block() const;
  int64_t block_count() const { return (queries + block() - 1) / block(); }
  int64_t block_size(int64_t index) const;
  // Of rows of transposed scores, and of rows of heads in the workspace.
  int64_t score_row() const { return attention_row(block()); }
  int64_t head_row() const { return attention_row(head_size); }
  int64_t query_offset(int64_t b, int64_t h, int64_t q) const { return ((b * queries + q) * heads + h) * head_size; }
  // Of the key head that serves query head h: heads / key_heads query heads that follow each other share one.
  int64_t key_offset(int64_t b, int64_t h) const {
    return (b * keys * key_heads + h / (heads / key_heads)) * head_size;
  }
  // The first key that some of the queries from `first` on see: 0 where there is no window.
  int64_t first_key(int64_t first) const {
    return window == 0 ? 0 : std::clamp<int64_t>(first_query + first - window + 1, 0, keys);
  }
  // The block after this one, in the order in which threads take them; a past one after the last.
  struct Block {
    int64_t b, h, index;
  };
  Block after(Block block) const;
  // Arrays of that block's queries, and, where it is another head's, of that head's keys: none where they are too large
  // to be held beside what is worked on.
  Prefetch prefetch_queries(Block next, const float* first, const float* second) const;
  Prefetch prefetch_keys(Block next, const float* first, const float* second) const;
  // Row-major index in the whole (batch, heads, queries, keys) array of this row's first key.
  uint64_t score_index(int64_t b, int64_t h, int64_t q) const;
  int64_t all_scores() const { return all_batch * all_heads * all_queries * keys; }
};

// Which keys the queries of one sequence may see.
class AttentionMask {
 public:
  // The inputs from `first_mask` on say what is valid: none; the keys; or the queries and the keys.
  AttentionMask(const AttentionShape& shape, const KernelArguments& arguments, size_t first_mask);

  void start_sequence(int64_t b);
  // Keys that a causal mask leaves to this query: those before the limit.
  int64_t limit(int64_t q) const;
  // Keys that some query of [first, first + count) counts.
  int64_t last_limit(int64_t first, int64_t count) const;
  // Whether some query of the sequence may be uniform.
  bool hides_all() const { return valid_queries_ || first_allowed_ > 0; }
  // No key is allowed: scores are all equal then, as in flax.linen, and every key counts, later ones too.
  bool is_uniform(int64_t q) const;
  // The scores of `count` queries from `first` on, at `scores`: of keys from shape.first_key(first) on.
  TransposedScores layout(float* scores, int64_t first, int64_t count) const;

 private:
  AttentionShape shape_;
  const int32_t* valid_queries_ = nullptr;
  const int32_t* valid_keys_ = nullptr;
  int64_t sequence_ = 0;
  int64_t first_allowed_ = 0;
};

// The weights of a block of queries that dropout keeps: element (query, key) of a row-major array.
class KeptWeights {
 public:
  KeptWeights(const AttentionShape& shape, const KernelArguments& arguments);

  void draw(const DropoutMask& dropout, const AttentionShape& shape, int64_t b, int64_t h, int64_t first_query,
            int64_t queries);
  // Zero where a weight was dropped, times `factor` where it was kept; `scores` are transposed.
  void apply(float factor, int64_t queries, const TransposedScores& layout, float* scores) const;

 private:
  int64_t keys_;
  std::vector<uint8_t> kept_;
};

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
