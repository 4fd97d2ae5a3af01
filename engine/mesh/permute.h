#pragma once

#include <vector>

#include "engine/mesh/sharding.h"

namespace shardscope {

// For a permute from `source` to `destination` among the devices of a group, which rank each rank sends to, such that
// each device gets its own box. A rank that already holds its box keeps it. Throws Failure when boxes do not match.
// Where each of `count` ranks of a group sends, that pass something on by `shift` ranks round a ring.
std::vector<int> ring_destinations(int64_t count, int64_t shift);

std::vector<int> permute_destinations(const Mesh& mesh, const Shape& shape, const Sharding& source,
                                      const Sharding& destination, const std::vector<int>& devices);

}  // namespace shardscope
