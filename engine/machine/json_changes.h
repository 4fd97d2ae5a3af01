#pragma once

#include <string>

#include "engine/config/json_document.h"

namespace shardscope {

// Members of `changes` take the place of those of `target`, at any depth; in lists of named objects by their names:
// {"levels": {"network": {"latency": 1e-5}}} changes one number of the level named network. Throws Failure
// (unknown_name) where a list has nothing of a name; `place` stands for `target`.
void apply_changes(JsonNode& target, const JsonNode& changes, const std::string& place);

}  // namespace shardscope
