#pragma once

#include <vector>

#include "engine/shard/layout_choice.h"
#include "engine/shard/op_kinds.h"

namespace shardscope {

// Ops that a search places alike, because they are of one kind, start alike, and so are their surroundings: the ops and
// pins within some steps along the dataflow. In a network of many equal layers the same op of all middle layers is one
// class; the first and last layers, whose surroundings differ, have classes of their own. Found by colour refinement
// (B. Weisfeiler and A. Leman, 1968), cut off after a few rounds: without an end it would tell each layer by its
// distance from the first.
struct OpClasses {
  std::vector<int> of_op;
  std::vector<OpId> first;  // per class: its first op
  std::vector<int> size;
};

OpClasses op_classes(const LayoutProblem& problem, const OpKinds& kinds);

}  // namespace shardscope
