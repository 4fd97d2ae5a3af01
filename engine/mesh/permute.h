#pragma once

#include <vector>

#include "engine/mesh/sharding.h"

namespace shardscope {

// For a permute from `source` to `destination` among the devices of a group, which rank each rank sends to, such that
// each device gets its own box. A rank that already holds its box keeps it. Throws Failure when boxes do not match.
std::vector<int> permute_destinations(const Mesh& mesh, const Shape& shape, const Sharding& source,
                                      const Sharding& destination, const std::vector<int>& devices);

}  // namespace shardscope
