#pragma once

#include <vector>

namespace shardscope {

// One level of memory as one rank has it.
struct MemoryShare {
  double capacity_bytes = 0;
  double seconds_per_byte = 0;
};

// How long touching so many bytes takes. Work that fits a level takes that level's rate. From a level's capacity c on,
// seconds per byte rise linearly to the next level's, reached at 2 c or at the next level's capacity, whichever is
// less. The time is continuous, and rises with the bytes. A level that is no larger than one before it does not count,
// and none is faster than one before it.
//
// Example: 1 MB at 1 ns/byte, then 4 ns/byte. 1 MB: 1 ms. 1.5 MB: 1.5 MB x 2.5 ns = 3.75 ms. 2 MB: 8 ms.
class MemoryTime {
 public:
  MemoryTime() = default;
  // From inside out; the last is taken to be unbounded.
  explicit MemoryTime(const std::vector<MemoryShare>& levels);
  double seconds(double bytes) const;

 private:
  std::vector<MemoryShare> levels_;
};

}  // namespace shardscope
