#pragma once

#include <cstddef>
#include <cstdint>
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
    return add_bytes(std::as_bytes(std::span(&value, 1)));
  }
  // Hash of everything added so far; more may follow.
  uint64_t digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shardscope
