#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/ops/ring_attention.h"
#include "engine/ops/zigzag.h"
#include "engine/runtime/kernels/kernel.h"

namespace shardscope {

// What a block of ring attention and its gradient share: where queries and keys stand, which keys a query sees, and
// their scores. A tile is up to attention_query_block queries of one head and one chunk.
class RingBlock {
 public:
  // Inputs begin with queries, keys and values.
  explicit RingBlock(const KernelArguments& arguments);

  int64_t batch, blocks, heads, key_heads, head_size;  // of the part held here
  int64_t length, chunk;                               // of a block of queries; half of it
  int64_t key_length;                                  // of a block of keys: either
  int64_t query_row, key_row;                          // floats from a position to the next
  int64_t scores_floats;                               // of a tile

  struct Tile {
    int64_t b, block, head;
    int64_t first, rows;      // positions in the block
    int64_t first_key, keys;  // of the block of keys: those that some of its queries see, and what is between them
  };
  // Calls visit(tile) for the tiles of one head of one block.
  template <class Visit>
  void for_each_tile(int64_t b, int64_t block, int64_t head, int64_t rows_at_most, Visit visit) const {
    for (int64_t half = 0; half < 2; ++half) {
      for (int64_t first = half * chunk; first < (half + 1) * chunk; first += rows_at_most) {
        const int64_t rows = std::min(rows_at_most, (half + 1) * chunk - first);
        const auto [first_key, keys] = seen_keys(block, first, rows);
        visit(Tile{b, block, head, first, rows, first_key, keys});
      }
    }
  }

  int64_t query_offset(const Tile& tile) const {
    return ((tile.b * blocks + tile.block) * length + tile.first) * query_row + tile.head * head_size;
  }
  int64_t key_offset(const Tile& tile) const {
    return ((tile.b * blocks + tile.block) * key_length + tile.first_key) * key_row +
           tile.head / (heads / key_heads) * head_size;
  }
  int64_t lse_offset(const Tile& tile) const {
    return ((tile.b * heads + tile.head) * blocks + tile.block) * length + tile.first;
  }

  // Products of queries and keys (tile.rows, tile.keys) become scores; those of keys that are not seen -infinity.
  // `derivatives`, as many: of each capped score by the one before the cap and the scale; or nullptr.
  void adjust(const Tile& tile, float* scores, float* derivatives) const;
  float scale() const { return scale_; }

 private:
  int64_t query_chunk(int64_t block, int64_t half) const;
  int64_t key_chunk(int64_t block, int64_t index) const;  // of the chunks that the operand has of a block
  int64_t key_position(const Tile& tile, int64_t key) const;
  // The first and how many, of positions that follow each other in a chunk.
  std::pair<int64_t, int64_t> seen_keys(int64_t block, int64_t first, int64_t rows) const;

  RingAttributes attributes_;
  int64_t all_blocks_, first_block_, window_;
  float scale_, soft_cap_;
  std::vector<float> alibi_;  // of the heads held here
  Zigzag order_;
};

}  // namespace shardscope
