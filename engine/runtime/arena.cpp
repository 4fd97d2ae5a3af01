#include "engine/runtime/arena.h"

#include <algorithm>

#include "engine/base/error.h"

namespace shardscope {

namespace {

// Weyl sequence: no two near words are alike, and no likely value of a tensor is among them.
inline uint64_t pattern(int64_t word) { return (static_cast<uint64_t>(word) + 1) * 0x9E3779B97F4A7C15u; }

constexpr int64_t word_bytes = sizeof(uint64_t);

}  // namespace

Arena::Arena(std::span<std::byte> memory) : memory_(memory) {
  if (reinterpret_cast<uintptr_t>(memory.data()) % alignment != 0 || memory.size() % alignment != 0) {
    throw Failure({"arena", "the arena is not made of whole aligned lines", "", "align it to 64 bytes"});
  }
  uint64_t* words = reinterpret_cast<uint64_t*>(memory_.data());
  for (int64_t i = 0; i < size() / word_bytes; ++i) words[i] = pattern(i);
}

int64_t Arena::measured_bytes() const {
  const uint64_t* words = reinterpret_cast<const uint64_t*>(memory_.data());
  int64_t i = size() / word_bytes;
  while (i > 0 && words[i - 1] == pattern(i - 1)) --i;
  return (i * word_bytes + alignment - 1) / alignment * alignment;
}

int64_t Arena::measured_bytes(std::span<const std::byte> part) const {
  const uint64_t* words = reinterpret_cast<const uint64_t*>(memory_.data());
  const int64_t first = part.data() - memory_.data(), last = first + static_cast<int64_t>(part.size());
  int64_t bytes = 0;
  for (int64_t at = first; at < last; at += word_bytes) {
    if (words[at / word_bytes] != pattern(at / word_bytes)) bytes += std::min(word_bytes, last - at);
  }
  return bytes;
}

}  // namespace shardscope
