#pragma once

#include <vector>

#include "engine/graph/graph.h"

namespace shardscope {

// An op that gives one operand in another type: a cast. Widened, every element is exact; narrowed, it is rounded.
bool widens(const Graph& graph, const Op& op);
bool narrows(const Graph& graph, const Op& op);

// Per value whether it is a state, or made in forward of states alone (a parameter in the type of products): the same
// for all microbatches of a step.
std::vector<bool> values_of_states(const Graph& graph);
// Per op whether it is one of forward that makes such a value: a step runs it once.
std::vector<bool> ops_of_states(const Graph& graph);

}  // namespace shardscope
