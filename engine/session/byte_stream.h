#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/base/error.h"

namespace shardscope {

// Plain values to bytes, as they lie in memory: between processes of the same build on machines of the same kind.
class ByteWriter {
 public:
  template <class Value>
  void put(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class Value>
  void put_list(const std::vector<Value>& values) {
    static_assert(std::is_trivially_copyable_v<Value>);
    put(static_cast<uint64_t>(values.size()));
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value));
  }
  void put_text(std::string_view text) {
    put(static_cast<uint64_t>(text.size()));
    bytes_ += text;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// And back. Throws Failure with the given code and the place in the bytes ("byte 17") when they end too early or a
// count is larger than what is left.
class ByteReader {
 public:
  ByteReader(std::string_view bytes, std::string code) : bytes_(bytes), code_(std::move(code)) {}

  template <class Value>
  Value get() {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  template <class Value>
  std::vector<Value> get_list() {
    static_assert(std::is_trivially_copyable_v<Value>);
    const size_t count = get_count(sizeof(Value));
    std::vector<Value> values(count);
    const std::string_view raw = take(count * sizeof(Value));
    if (count > 0) std::memcpy(values.data(), raw.data(), raw.size());
    return values;
  }
  std::string get_text() { return std::string(take(get_count(1))); }
  // The number of things that follow, each of at least `least_bytes`.
  size_t get_count(size_t least_bytes) {
    const auto count = get<uint64_t>();
    if (count > (bytes_.size() - at_) / least_bytes) fail("says that more follows than there is");
    return count;
  }
  void expect_end() const {
    if (at_ != bytes_.size()) fail("has bytes behind its end");
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Failure(Error{code_, what, at_name("byte " + std::to_string(at_)), ""});
  }

 private:
  std::string_view take(size_t count) {
    if (count > bytes_.size() - at_) fail("ends too early");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }

  std::string_view bytes_;
  std::string code_;
  size_t at_ = 0;
};

}  // namespace shardscope
