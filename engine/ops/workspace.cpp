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

int64_t row_sums_workspace_bytes(std::span<const TensorType> operands, std::span<const TensorType> results) {
  const int64_t columns = element_count(results[0].shape);
  const auto sums = static_cast<int>(results.size());
  return columns == 0 ? 0 : column_sums_workspace_bytes(element_count(operands[1].shape) / columns, columns, sums);
}

// Per thread: scores and their gradient, transposed, of one block of queries; that block's query and d context, as they
// are and transposed; keys or values of a head; two numbers for each query.
int64_t attention_workspace_bytes(int64_t queries, int64_t keys, int64_t head_size, int threads, int score_arrays) {
  const int64_t block = std::min(queries, attention_query_block);
  const int64_t score_row = attention_row(block), head_row = attention_row(head_size);
  const auto bytes = [](int64_t floats) { return round_up(4 * floats); };
  return threads * (score_arrays * bytes(keys * score_row) + 2 * bytes(head_size * score_row) +
                    2 * bytes(block * head_row) + bytes(keys * head_row) + 2 * bytes(score_row));
}

}  // namespace shardscope
