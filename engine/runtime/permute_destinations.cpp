#include <fmt/format.h>

#include "engine/runtime/executor.h"

namespace shardscope {

std::vector<int> permute_destinations(const Mesh& mesh, const Shape& shape, const Sharding& source,
                                      const Sharding& destination, const std::vector<int>& devices) {
  const int count = static_cast<int>(devices.size());
  std::vector<Box> has, wants;
  for (int device : devices) {
    has.push_back(shard_box(source, mesh, shape, device));
    wants.push_back(shard_box(destination, mesh, shape, device));
  }
  std::vector<int> destination_of(count, -1);
  std::vector<bool> served(count, false);
  for (int rank = 0; rank < count; ++rank) {
    if (has[rank] != wants[rank]) continue;
    destination_of[rank] = rank;
    served[rank] = true;
  }
  for (int rank = 0; rank < count; ++rank) {
    for (int to = 0; to < count && destination_of[rank] < 0; ++to) {
      if (served[to] || has[rank] != wants[to]) continue;
      destination_of[rank] = to;
      served[to] = true;
    }
    if (destination_of[rank] < 0) {
      throw Failure({"plan", fmt::format("no device of the group needs what device {} holds", devices[rank]), "", ""});
    }
  }
  return destination_of;
}

}  // namespace shardscope
