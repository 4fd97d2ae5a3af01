#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace shardscope {

// The number that all of a text is, as std::from_chars reads it: "12", "-1.5e3"; nothing for "", " 12", "12 MB", or one
// that does not fit.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, fault] = std::from_chars(text.data(), end, value);
  return fault == std::errc() && rest == end ? std::optional(value) : std::nullopt;
}

}  // namespace shardscope
