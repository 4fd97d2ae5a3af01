#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

namespace shardscope {

// XXH3, 64 bits. The same on every machine of one byte order.
uint64_t hash_bytes(std::span<const std::byte> bytes);
uint64_t hash_bytes(std::string_view text);

// Hash of a sequence of values, each with its extent, so that ("ab", "c") and ("a", "bc") differ.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  // The bytes alone, without their count.
  Hasher& add_bytes(std::span<const std::byte> bytes);
  // Count, then characters.
  Hasher& add(std::string_view text);
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) Hasher& add(T value) {
    if (held_ + sizeof value > buffer_.size()) flush();
    std::memcpy(buffer_.data() + held_, &value, sizeof value);
    held_ += sizeof value;
    return *this;
  }
  // Hash of everything added so far; more may follow.
  uint64_t digest();

 private:
  struct State;
  void flush();

  std::unique_ptr<State> state_;
  std::array<std::byte, 512> buffer_;  // what `state_` has not seen yet
  size_t held_ = 0;
};

}  // namespace shardscope
