#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace shardscope {

// A rank's one block of memory for everything that a step needs, at fixed offsets. The memory itself belongs to the
// caller (shared between the ranks of a host, or plain); it is filled with a pattern that depends on the position, so
// that what was written later can be distinguished from what was not.
class Arena {
 public:
  static constexpr int64_t alignment = 64;  // of the memory and of every offset

  // Takes the memory, 64-byte aligned, a multiple of 64 bytes, and fills it.
  explicit Arena(std::span<std::byte> memory);

  std::byte* base() const { return memory_.data(); }
  int64_t size() const { return static_cast<int64_t>(memory_.size()); }
  // End of the highest 64-byte line that was overwritten since construction: what was used, found from the bytes
  // themselves. Scans down from the end, so it is quick where the arena is used to its top.
  int64_t measured_bytes() const;
  // How much of a part of the memory was overwritten, in words of 8 bytes.
  int64_t measured_bytes(std::span<const std::byte> part) const;

 private:
  std::span<std::byte> memory_;
};

}  // namespace shardscope
