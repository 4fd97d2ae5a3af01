#pragma once

#include <memory>

#include "gui/workspace/workspace.h"
#include "viz/paint/flow_painter.h"

namespace shardscope {

// What a flow graph of a plan says: on its nodes, its lanes and at its edges.
FlowWords flow_words(const std::shared_ptr<const Plan>& plan, const std::shared_ptr<const FlowGraph>& graph);

// All that is known of a node, for its tool tip.
QString node_tip(const Plan& plan, const FlowNode& node);

// A lane's title, and where its layers first differ from those of another lane.
QString lane_tip(const Plan& plan, const FlowGraph& graph, int lane);

}  // namespace shardscope
