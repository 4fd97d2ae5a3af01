#pragma once

#include <string>

#include "engine/comm/communicator.h"

namespace shardscope {

// Ranks on processors of different kinds compute with what all of them can, so that their results are the same bits:
// limits this rank's kernels, ours and oneDNN's, to the least instruction set of all. Collective; before any kernel is
// made. Returns a sentence for people where ranks differ, else nothing.
std::string agree_on_instruction_set(Communicator& ranks);

}  // namespace shardscope
