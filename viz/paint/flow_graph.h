#pragma once

#include <vector>

#include "engine/plan/plan.h"
#include "viz/paint/picture_rect.h"

namespace shardscope {

// Sizes of the picture, in its own unit: a pixel where it is not zoomed.
struct FlowSizes {
  double node_width = 196, node_height = 50;
  double column_gap = 140;  // room for the layout of what a node makes
  double row_gap = 18;
  double lane_head = 30;  // title
  double lane_gap = 30;
  double margin = 16;
};
inline constexpr FlowSizes flow_sizes;

// A step of a stage's program, or one of each of some layers that are alike.
struct FlowNode {
  InstructionKind kind = InstructionKind::compute;
  Phase phase = Phase::forward;
  int lane = 0;
  std::vector<InstructionId> steps;  // by layer, as they run; what is shown is that of the first
  int runs = 1;                      // of each in a training step
  // In a training step, all layers and microbatches together:
  double seconds = 0, wire_bytes = 0, flops = 0;
  // The least width of its place, and of the room behind it.
  double width = flow_sizes.node_width, gap = flow_sizes.column_gap;
  PictureRect place;
};

// What a node makes and another one takes, on this device or from the others.
struct FlowEdge {
  int from = -1, to = -1;  // nodes
  int value = -1;          // of the program
};

// A span of a task's steps that belong to one layer of the network, to layers that are alike, or to none.
struct FlowLane {
  int task = -1;
  Phase phase = Phase::forward;        // of the task
  std::vector<int> layers;             // ascending; none: before, behind or across the layers
  int first = 0, end = 0;              // nodes [first, end)
  double seconds = 0, wire_bytes = 0;  // of its nodes
  PictureRect place;
};

// The main sequence of a stage as a graph: every step of its tasks is part of exactly one node, lanes and nodes stand
// in program order, folded ones where the first of their layers does. An edge leads from a node to one that stands
// behind it; what a folded layer hands to the next one of its lane has none. Edges by `to`.
struct FlowGraph {
  std::vector<FlowLane> lanes;
  std::vector<FlowNode> nodes;
  std::vector<FlowEdge> edges;
  InstructionTable<int> node_of;  // -1: of another stage
  double width = 0, height = 0;   // of the picture

  int find(InstructionId step) const;          // its node; -1 where there is none
  bool is_within(const FlowEdge& edge) const;  // both ends in one lane
};

// Layers of a task are alike whose steps agree, one by one, in op, shapes, layouts and in what they take from each
// other. `fold`: they share a lane, also where others that differ stand between them.
FlowGraph flow_graph(const Plan& plan, int stage, bool fold);

}  // namespace shardscope
