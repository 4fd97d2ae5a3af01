#pragma once

#include <cstdint>
#include <string>

namespace shardscope {

// Positions of a sequence in zig-zag order for `blocks` equal blocks: block i is the chunks i and 2n-1-i of 2n.
//
// Example: 8 positions, 2 blocks: 0 1 6 7, 2 3 4 5.
struct Zigzag {
  int64_t blocks = 1, length = 1;  // blocks = 1: as they are

  // Of the position that stands at an index.
  int64_t position(int64_t index) const {
    const int64_t size = length / blocks / 2;
    if (size == 0 || blocks == 1) return index;
    const int64_t block = index / (2 * size), rest = index % (2 * size);
    return rest < size ? block * size + rest : (2 * blocks - 1 - block) * size + rest - size;
  }
};

// Attributes of op zigzag, which puts one dimension of an array in zig-zag order, or back.
struct ZigzagAttributes {
  int64_t blocks = 1;
  int dimension = 0;
  bool back = false;
  bool operator==(const ZigzagAttributes&) const = default;
};
std::string to_string(const ZigzagAttributes& attributes);

}  // namespace shardscope
