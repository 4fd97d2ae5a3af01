#pragma once

#include "engine/program/instruction.h"

namespace shardscope {

// A step of the plan that is shown. Ascending is program order.
using StepRef = InstructionId;

}  // namespace shardscope
