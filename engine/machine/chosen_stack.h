#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/machine/stack.h"

namespace shardscope {

// The stacks that come with the program: resources/stacks, each by the name of its file, in alphabetical order.
std::vector<std::string_view> stack_names();

// The stack that a run file's value of the key "stack" names, as JSON text: a name, or an object with a `name` whose
// other members take the place of the stack's own, {"name": "megatron", "attention": {"kernel": "scores"}}. Empty: the
// default. Throws Failure with the faults, at places that begin with "stack".
Stack chosen_stack(const std::string& json);

// The value that names a stack; empty for the default.
std::string stack_choice(const std::string& name);

}  // namespace shardscope
