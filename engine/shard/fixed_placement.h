#pragma once

#include <optional>
#include <vector>

#include "engine/shard/placement.h"

namespace shardscope {

// The placement of an op that leaves no choice. A state is made where it is. An update, which overwrites its
// operands, works where that of them is that is split most (of equals the first): results of others are brought back
// to where those lie. What adds up over microbatches does so where it is pinned, if it is. Nothing for any other op.
// `pins` are those of the graph's values.
//
// Example: a parameter that is whole on all devices, its moments split over data (ZeRO stage 1): each device updates
// its part, and the new parameter is gathered.
std::optional<Placement> fixed_placement(const Graph& graph, const Mesh& mesh, const FactorRule& rule, OpId op,
                                         const std::vector<std::optional<Sharding>>& pins);

// True where fixed_placement() gives one.
bool is_fixed(const Op& op);

}  // namespace shardscope
