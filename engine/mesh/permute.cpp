#include "engine/mesh/permute.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/base/error.h"

namespace shardscope {

std::vector<int> ring_destinations(int64_t count, int64_t shift, std::span<const int64_t> receivers) {
  std::vector<int> destination_of;
  for (int64_t rank = 0; rank < count; ++rank) {
    const int64_t to = ((rank + shift) % count + count) % count;
    const bool sends = receivers.empty() || std::ranges::find(receivers, to) != receivers.end();
    destination_of.push_back(sends ? static_cast<int>(to) : -1);
  }
  return destination_of;
}

std::vector<int> permute_destinations(const Mesh& mesh, const Shape& shape, const Sharding& source,
                                      const Sharding& destination, const std::vector<int>& devices) {
  const int count = static_cast<int>(devices.size());
  std::vector<Box> has, wants;
  for (int device : devices) {
    has.push_back(shard_box(source, mesh, shape, device));
    wants.push_back(shard_box(destination, mesh, shape, device));
  }
  std::vector<int> destination_of(count, -1);
  std::map<Shape, std::vector<int>> unserved;  // by what they want, the first rank last
  for (int rank = count - 1; rank >= 0; --rank) {
    if (has[rank] == wants[rank]) {
      destination_of[rank] = rank;
    } else {
      unserved[wants[rank].start].push_back(rank);
    }
  }
  for (int rank = 0; rank < count; ++rank) {
    if (destination_of[rank] >= 0) continue;
    std::vector<int>& waiting = unserved[has[rank].start];
    if (waiting.empty() || wants[waiting.back()] != has[rank]) {
      throw Failure({"plan", fmt::format("no device of the group needs what device {} holds", devices[rank]), "", ""});
    }
    destination_of[rank] = waiting.back();
    waiting.pop_back();
  }
  return destination_of;
}

}  // namespace shardscope
