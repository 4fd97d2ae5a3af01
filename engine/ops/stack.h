#pragma once

#include <cstdint>
#include <string>

namespace shardscope {

// Attributes of ops stack and unstack: the dimension that counts the arrays, and how many they are.
struct StackAttributes {
  int dimension = 0;
  int64_t count = 1;
  bool operator==(const StackAttributes&) const = default;
};
std::string to_string(const StackAttributes& attributes);

}  // namespace shardscope
