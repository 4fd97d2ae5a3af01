#pragma once

#include <utility>
#include <vector>

#include "engine/shard/layout_choice.h"

namespace shardscope {

// A layout problem reduced to small numbers, so that a search over it is table look-ups.

// One op with all its placements, as layout ids and seconds.
struct OpNode {
  std::vector<Placement> placements;
  std::vector<float> seconds;              // work of one device
  std::vector<std::vector<int>> operands;  // [placement][operand] layout id
  std::vector<std::vector<int>> results;   // [placement][result] layout id
  std::vector<ValueId> touched;            // operands and results, without repeats
  int chosen = 0;
};

// Where a value comes from and goes to. Ids are -1 where there is none.
struct ValueNode {
  OpId producer = no_id;
  int result = 0;
  int type = 0;
  int pin = -1;    // layout id
  int start = -1;  // layout id
  std::vector<std::pair<OpId, int>> uses;
};

// (op, factor) pairs that are tied by the values between the ops: splitting "the batch" means all of them.
using DimensionClass = std::vector<std::pair<OpId, int>>;

std::vector<ValueNode> value_nodes(const LayoutProblem& problem, LayoutCosts& costs);
std::vector<OpNode> op_nodes(const LayoutProblem& problem, LayoutCosts& costs);
std::vector<DimensionClass> dimension_classes(const LayoutProblem& problem, const std::vector<ValueNode>& values);

}  // namespace shardscope
