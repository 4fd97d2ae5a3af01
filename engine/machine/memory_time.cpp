#include "engine/machine/memory_time.h"

#include <algorithm>
#include <limits>

namespace shardscope {

MemoryTime::MemoryTime(const std::vector<MemoryShare>& levels) {
  for (size_t i = 0; i < levels.size(); ++i) {
    MemoryShare level = levels[i];
    if (i + 1 == levels.size()) level.capacity_bytes = std::numeric_limits<double>::infinity();
    if (!levels_.empty()) {
      if (level.capacity_bytes <= levels_.back().capacity_bytes) continue;
      level.seconds_per_byte = std::max(level.seconds_per_byte, levels_.back().seconds_per_byte);
    }
    levels_.push_back(level);
  }
}

double MemoryTime::seconds(double bytes) const {
  if (levels_.empty()) return 0;
  size_t i = 0;
  while (bytes > levels_[i].capacity_bytes) ++i;
  double rate = levels_[i].seconds_per_byte;
  if (i > 0) {
    const MemoryShare& inner = levels_[i - 1];
    const double width = std::min(inner.capacity_bytes, levels_[i].capacity_bytes - inner.capacity_bytes);
    const double beyond = std::min(1.0, (bytes - inner.capacity_bytes) / width);
    rate = inner.seconds_per_byte + (rate - inner.seconds_per_byte) * beyond;
  }
  return bytes * rate;
}

}  // namespace shardscope
