#pragma once

#include <utility>
#include <vector>

#include "viz/paint/flow_graph.h"

namespace shardscope {

// Gives every lane and node its place, the nodes of a column the width and gap of its widest: lanes one beneath the
// other in their order, the nodes of each in a grid. A node stands to the right of those of its lane from which it
// takes, as near as can be to its takers where it takes nothing; what does not hang together stands apart, in lines of
// about equal width. An edge within a lane runs in the row of its beginning, whose cells are kept free of nodes as far
// as its last taker, and turns in the gap before that one.
void lay_out(FlowGraph& graph);

// The corners of an edge's line. Within a lane it crosses no node; to another lane it goes down beside the node, along
// the gap between the lanes, and down again in the gap before the taker.
struct FlowPoint {
  double x = 0, y = 0;
};
std::vector<FlowPoint> edge_line(const FlowGraph& graph, const FlowEdge& edge);

// The node whose place holds a point of the picture; -1: none.
int node_at(const FlowGraph& graph, double x, double y);
// Lanes [first, second) that meet the span [top, bottom] of the picture.
std::pair<int, int> lanes_between(const FlowGraph& graph, double top, double bottom);

}  // namespace shardscope
