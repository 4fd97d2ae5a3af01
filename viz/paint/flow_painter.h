#pragma once

#include <QFont>
#include <QPainter>
#include <functional>
#include <vector>

#include "viz/paint/flow_layout.h"
#include "viz/paint/palette.h"

namespace shardscope {

// What stands on a node, on a lane, and at an edge.
struct FlowNodeText {
  QString title, detail, cost;
};
struct FlowWords {
  std::function<FlowNodeText(const FlowNode&)> node;
  std::function<QString(const FlowLane&)> lane, lane_cost;
  std::function<QString(int value)> layout;  // of a program value
};

struct FlowMarks {
  int selected = -1, hovered = -1;           // nodes
  const std::vector<bool>* found = nullptr;  // by node: what a search has found; the others are dimmed. Null: no search
};

// Gives nodes and lanes places in which none of these words has to be cut.
void lay_out_roomy(FlowGraph& graph, const FlowWords& words, const QFont& font);

// Draws the part of a graph that is in `visible` (in the picture's unit); the painter maps it to the device already,
// `scale` pixels a unit. What would be too small to read is left out: the words first, then the nodes of a lane. Edges
// to other lanes than the next of the same pass are drawn for the selected node alone.
void paint_flow(QPainter& painter, const FlowGraph& graph, const QRectF& visible, double scale, const FlowWords& words,
                const FlowMarks& marks, const QFont& font, const Theme& theme);

}  // namespace shardscope
