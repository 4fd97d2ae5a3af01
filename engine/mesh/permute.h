#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/mesh/sharding.h"

namespace shardscope {

// Where each of `count` ranks of a group sends, that pass something on by `shift` ranks round a ring: to those of the
// receivers, or to all where none is named. -1: nowhere.
std::vector<int> ring_destinations(int64_t count, int64_t shift, std::span<const int64_t> receivers = {});

// For a permute from `source` to `destination` among the devices of a group, which rank each rank sends to, such that
// each device gets its own box. A rank that already holds its box keeps it. Throws Failure when boxes do not match.
std::vector<int> permute_destinations(const Mesh& mesh, const Shape& shape, const Sharding& source,
                                      const Sharding& destination, const std::vector<int>& devices);

}  // namespace shardscope
