#pragma once

#include <string>

#include "engine/plan/plan.h"

namespace shardscope {

// On how many hosts of the plan the devices of a group of this collective lie, at most; 1 where it crosses no
// host.
int hosts_of_group(const Plan& plan, const Instruction& instruction);

// "4 + 4 devices on 2 hosts"; empty where there is one host.
std::string hosts_text(const Plan& plan);

}  // namespace shardscope
