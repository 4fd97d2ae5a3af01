#pragma once

#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// The places in the run file (Plan::pins) whose layouts make a reshard necessary, each once: first the pin of the array
// itself where it is what wants the reshard, else those of the arrays that the op works with, before they are cast;
// then the nearest ones, up the graph, from which the axes come over which it communicates; where there are none of
// either, the nearest ones anywhere that have such an axis, from which propagation brought it. Empty where no pin is
// the reason: an axis that the search chose.
//
// Example: logits that no `out` speaks of are whole, the batch is split by `in`; the all-gather of the logits is
// decided by sharding.out (what wants them whole) and sharding.in (what splits them).
std::vector<std::string> deciding_pins(const Plan& plan, const Instruction& instruction);

}  // namespace shardscope
