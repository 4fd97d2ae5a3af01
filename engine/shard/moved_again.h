#pragma once

#include <vector>

#include "engine/shard/written_placement.h"

namespace shardscope {

// Forward ops whose recomputation in backward needs communication of its own: as written, its result is used with
// another sharding than it has, or its operand is not available with the sharding that it needs. `given_up`: per value,
// or empty, whether layouts that forward made of it are dropped after forward (see
// LayoutProblem::reshard_after_forward).
//
// Example: keys are gathered over a split sequence for attention. Kept from forward, they are gathered only once.
std::vector<OpId> moved_again(const Graph& graph, const Mesh& mesh, const WrittenPlacements& written,
                              const std::vector<bool>& given_up);

}  // namespace shardscope
