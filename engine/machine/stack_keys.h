#pragma once

#include "engine/config/json_type.h"
#include "engine/machine/stack.h"

namespace shardscope {

// The one table of what a stack's file says, from which reader, writer and resources/stack.schema.json follow.
const JsonType<Stack>& stack_type();

std::string stack_schema();

}  // namespace shardscope
