#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope {

// Attributes of ops split and concatenate: the dimension, and the size of each part along it, in order.
struct SplitAttributes {
  int dimension = 0;
  std::vector<int64_t> sizes;
  bool operator==(const SplitAttributes&) const = default;
};
std::string to_string(const SplitAttributes& attributes);

}  // namespace shardscope
