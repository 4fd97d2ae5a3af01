#pragma once

#include <algorithm>
#include <vector>

namespace shardscope {

// The upper of the two in the middle where they are even in number. There is at least one.
inline double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, middle);
  return *middle;
}

}  // namespace shardscope
