#pragma once

#include <cstdint>

namespace shardscope {

// Sums over rows are made in blocks of this many rows in float, and over blocks in double.
inline constexpr int64_t rows_per_block = 64;
// Columns that one call of a column sum handles at most.
inline constexpr int64_t columns_per_tile = 512;

// Width of the tiles into which `columns` are cut for `threads` threads: whole vectors.
inline int64_t tile_width(int64_t columns, int threads) {
  const int64_t share = ((columns + threads - 1) / threads + 15) / 16 * 16;
  return share < columns_per_tile ? share : columns_per_tile;
}

}  // namespace shardscope
