#include "viz/text/index_map.h"

#include <fmt/format.h>

#include <vector>

namespace shardscope {

std::string index_map_json(const Sharding& sharding, const Mesh& mesh, const Shape& shape) {
  std::vector<std::string> devices;
  for (int device = 0; device < mesh.device_count(); ++device) {
    const Box box = shard_box(sharding, mesh, shape, device);
    std::vector<std::string> ranges;
    for (size_t dim = 0; dim < box.size.size(); ++dim) {
      ranges.push_back(fmt::format("[{}, {}]", box.start[dim], box.start[dim] + box.size[dim]));
    }
    devices.push_back(fmt::format("[{}, [{}]]", device, fmt::join(ranges, ", ")));
  }
  return fmt::format(R"({{"index_map": [{}], "shard_shape": [{}], "fully_replicated": {}}})", fmt::join(devices, ", "),
                     fmt::join(local_shape(sharding, mesh, shape), ", "), fully_replicated(sharding, mesh));
}

}  // namespace shardscope
