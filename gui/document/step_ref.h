#pragma once

#include "engine/program/step.h"

namespace shardscope {

// A step of the plan that is shown. Ascending is program order.
using StepRef = StepId;

}  // namespace shardscope
