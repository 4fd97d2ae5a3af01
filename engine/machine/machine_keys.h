#pragma once

#include "engine/config/json_type.h"
#include "engine/machine/machine.h"

namespace shardscope {

// The one table of what a machine file says.
const JsonType<Machine>& machine_type();

}  // namespace shardscope
