#pragma once

#include <string>

#include "engine/base/shape.h"
#include "engine/mesh/mesh.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// Which elements each device holds, as one line of JSON (no line end): for each device in ascending order
// [device, [[start, stop] per dimension]], as NamedSharding.devices_indices_map gives them.
//
//     {"index_map": [[0, [[0, 4], [0, 8]]], [1, [[4, 8], [0, 8]]]], "shard_shape": [4, 8], "fully_replicated": false}
std::string index_map_json(const Sharding& sharding, const Mesh& mesh, const Shape& shape);

}  // namespace shardscope
