#pragma once

#include <cstdint>

namespace shardscope {

// Offsets in an arena, and the memory of a kernel, begin at whole lines of this many bytes: a cache line, and the
// widest vector.
inline constexpr int64_t line_bytes = 64;

// The least multiple of `unit` that is not below `size`.
constexpr int64_t round_up(int64_t size, int64_t unit = line_bytes) { return (size + unit - 1) / unit * unit; }

// One of `count` equal parts of `size` that begin at whole units.
constexpr int64_t aligned_share(int64_t size, int64_t count, int64_t unit = line_bytes) {
  return size / count / unit * unit;
}

}  // namespace shardscope
