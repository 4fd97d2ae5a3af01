#pragma once

#include <string_view>
#include <vector>

#include "engine/graph/op_definition.h"

namespace shardscope {

// All ops, by name. One line in registry.cpp adds an op. Throws Failure for an unknown name.
const OpDefinition& op_definition(std::string_view name);
const std::vector<const OpDefinition*>& all_op_definitions();

}  // namespace shardscope
