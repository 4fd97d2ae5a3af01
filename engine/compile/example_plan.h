#pragma once

#include <string>

#include "engine/plan/plan.h"

namespace shardscope {

// Of a run file whose data have an end: the forward pass, without dropout and optimizer, of all its examples at once,
// on one device of the machine.
Plan example_plan(const std::string& run_file, const Machine& machine);

}  // namespace shardscope
