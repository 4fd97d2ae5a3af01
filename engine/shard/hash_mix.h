#pragma once

#include <cstdint>

namespace shardscope {

// One more value in a running hash; for tables in memory, not for what is kept.
inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
  return hash ^ (hash >> 29);
}

}  // namespace shardscope
