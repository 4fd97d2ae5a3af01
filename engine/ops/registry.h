#pragma once

#include <string_view>
#include <vector>

#include "engine/graph/op_definition.h"

namespace shardscope {

// All ops, by name. Throws Failure for an unknown name.
const OpDefinition& op_definition(std::string_view name);
const std::vector<const OpDefinition*>& all_op_definitions();

// Of each family of ops, forward and backward together, which is a function NAME_ops() of one file. Written by the
// build (cmake/registered.cmake).
std::vector<std::vector<const OpDefinition*>> op_families();

}  // namespace shardscope
