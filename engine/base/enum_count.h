#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

namespace shardscope {

namespace enum_count_detail {

// What the compiler calls the value: "shardscope::Phase::update", or "(shardscope::Phase)7" where there is none.
template <auto value>
constexpr bool is_enumerator() {
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr size_t at = text.find("value = ") + 8;
  return text[at] != '(' && (text[at] < '0' || text[at] > '9');
}

template <class Enum, size_t from>
constexpr size_t count_from() {
  if constexpr (is_enumerator<static_cast<Enum>(from)>()) return count_from<Enum, from + 1>();
  else return from;
}

}  // namespace enum_count_detail

// The number of enumerators of an enum whose values are 0, 1, 2 ... Tables of names and bounds of what is read are
// stated with it, so that a new enumerator without a name does not compile.
//
// Example: static_assert(names.size() == enum_count<RunEnd>);
template <class Enum>
requires std::is_enum_v<Enum>
inline constexpr size_t enum_count = enum_count_detail::count_from<Enum, 0>();

}  // namespace shardscope
