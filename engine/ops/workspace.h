#pragma once

#include <cstdint>

namespace shardscope {

// Upper bounds of kernels' scratch memory, in bytes. Kernels refuse to use more than was declared.

// One (m, k) x (k, n) f32 product on `threads` threads.
int64_t matrix_product_workspace_bytes(int64_t m, int64_t n, int64_t k, int threads);

// Attention works on this many query positions of one head at a time.
inline constexpr int64_t attention_query_block = 128;

// Attention, forward or backward, for `queries` x `keys` positions and heads of `head_size`.
int64_t attention_workspace_bytes(int64_t queries, int64_t keys, int64_t head_size, int threads);

}  // namespace shardscope
