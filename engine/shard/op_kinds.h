#pragma once

#include <vector>

#include "engine/graph/op_definition.h"

namespace shardscope {

// Ops of one kind have the same definition, factor rule, phase and types, so they can be split in the same ways at the
// same cost. Kinds are numbered in the order of their first op.
struct OpKinds {
  std::vector<int> of_op;
  std::vector<OpId> first;  // per kind: its first op
};

OpKinds op_kinds(const Graph& graph);

}  // namespace shardscope
