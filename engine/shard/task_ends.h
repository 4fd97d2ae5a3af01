#pragma once

#include <vector>

#include "engine/program/program.h"

namespace shardscope {

// Names the inputs and outputs of a program's tasks: what each uses of others, and what others use of it or what is
// `kept`, per program value, when all is done.
void name_ends(Program& program, std::vector<bool> kept);
// The groups of its collectives, in the order of their first use.
void list_groups(Program& program);

}  // namespace shardscope
