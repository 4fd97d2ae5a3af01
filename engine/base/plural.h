#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shardscope {

// "1 step", "2 steps"; `many` where that is not the word with an s: "1 axis", "2 axes".
inline std::string plural(int64_t count, std::string_view one, std::string_view many = {}) {
  if (count == 1) return std::string(one);
  return many.empty() ? std::string(one) + "s" : std::string(many);
}
inline std::string counted(int64_t count, std::string_view one, std::string_view many = {}) {
  return std::to_string(count) + " " + plural(count, one, many);
}

}  // namespace shardscope
