#include "engine/ops/workspace.h"

#include <algorithm>

#include "engine/base/align.h"

namespace shardscope {

// Per thread: the packed second operand (or a slice of it), what oneDNN copies of the first, and tiles of bf16
// operands.
int64_t matrix_product_workspace_bytes(int64_t m, int64_t n, int64_t k, int threads, DType operands) {
  constexpr int64_t largest_panel = 4 << 20;
  constexpr int64_t copies = 544 << 10;
  const int64_t rows = std::min(m, product_tile_rows), columns = std::min(n, product_tile_columns);
  const int64_t depth = std::min(k, product_tile_depth);
  const int64_t tiles = round_up(4 * rows * depth) + round_up(4 * depth * columns) + round_up(4 * rows * columns);
  return threads * (std::min(largest_panel, 4 * round_up(k) * round_up(std::max(m, n))) + copies +
                    (operands == DType::bf16 ? tiles : 0));
}

int64_t column_sum_chunks(int64_t rows) { return std::clamp<int64_t>((rows + 63) / 64, 1, 32); }

int64_t column_sums_workspace_bytes(int64_t rows, int64_t columns, int sums) {
  return column_sum_chunks(rows) * sums * columns * static_cast<int64_t>(sizeof(double));
}

// Per thread: scores and their gradient of one block of queries, a mask of the keys, and what oneDNN copies.
int64_t attention_workspace_bytes(int64_t queries, int64_t keys, int64_t head_size, int threads) {
  const int64_t rows = std::min(queries, attention_query_block);
  const int64_t copies = 4 * (std::min<int64_t>(keys, 256) + 64) * (round_up(std::max(rows, head_size)) + 64) +
                         4 * 64 * round_up(std::min<int64_t>(std::max(keys, head_size), 1024)) + 4096;
  return threads * (round_up(4 * (2 * rows * keys + keys + rows)) + round_up(copies));
}

}  // namespace shardscope
