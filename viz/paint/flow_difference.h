#pragma once

#include <optional>

#include "viz/paint/flow_graph.h"

namespace shardscope {

// The first in which two lanes of layers differ. `here` and `there` are the nodes, -1 where a lane has ended; the
// values are the first array of those nodes that does not lie alike, -1 where the instructions are others, or take
// other ones.
struct LaneDifference {
  int other = -1;  // lane
  int here = -1, there = -1;
  bool is_given = false;  // by these nodes; else taken
  int value_here = -1, value_there = -1;
};

// Why the layers of a lane do not share the lane of other layers: against the lane of its task with which it agrees the
// longest, the first of these. Nothing for what is of no layer, where no other lane has a layer that this has not, and
// where one is alike (layers that are not folded).
std::optional<LaneDifference> lane_difference(const Plan& plan, const FlowGraph& graph, int lane);

}  // namespace shardscope
