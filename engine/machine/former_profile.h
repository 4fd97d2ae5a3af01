#pragma once

#include <string>

#include "engine/machine/machine.h"

namespace shardscope {

// The machine that a device profile of versions before 0.2 described, as recorded runs keep them in profile.json:
// "cores", rates of one core ("matrix_flops_per_core", ...), "ranks_per_host". What joined devices along a mesh axis
// ("links") belongs to no place of a topology and is left out. Throws Failure with the faults; `name` stands for the
// file.
Machine machine_of_profile(const std::string& text, const std::string& name);

}  // namespace shardscope
