#pragma once

#include <cstdint>
#include <span>

#include "engine/base/shape.h"

namespace shardscope {

// Upper bounds of kernels' scratch memory, in bytes. Kernels refuse to use more than was declared.

// One (m, k) x (k, n) product on `threads` threads. bf16 operands and results may have to be
// copied as f32, in tiles of at most these sizes.
int64_t matrix_product_workspace_bytes(int64_t m, int64_t n, int64_t k, int threads, DType operands = DType::f32);
inline constexpr int64_t product_tile_rows = 256, product_tile_columns = 256, product_tile_depth = 512;

// `sums` sums over the rows of each column: totals in double of each chunk of rows
// (engine/runtime/kernels/column_sums.h).
int64_t column_sums_workspace_bytes(int64_t rows, int64_t columns, int sums);
// The same of an op whose results are sums over the rows of its second operand.
int64_t row_sums_workspace_bytes(std::span<const TensorType> operands, std::span<const TensorType> results);
// How many chunks that many rows are cut into, whatever the number of threads: one for each 64 rows, at most 32.
int64_t column_sum_chunks(int64_t rows);

// Attention works on at most this many query positions of one head at a time: on fewer where a causal mask hides keys,
// as those behind a whole block are left out.
inline constexpr int64_t attention_query_block = 64, causal_attention_query_block = 32;
// Its arrays in the workspace have rows of whole vectors, up to 16 floats.
inline constexpr int64_t attention_row(int64_t columns) { return (columns + 15) / 16 * 16; }

// Attention, forward or backward, for `queries` x `keys` positions and heads of `head_size`, with so many arrays of the
// scores' size.
int64_t attention_workspace_bytes(int64_t queries, int64_t keys, int64_t head_size, int threads, int score_arrays = 2);

}  // namespace shardscope
