#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/machine/machine.h"

namespace shardscope {

// The machines that come with the program: resources/machines, each by the name of its file, in alphabetical order.
// Their rates are makers' numbers, as each `source` says; no measurement backs them.
std::vector<std::string_view> library_names();
bool is_in_library(std::string_view name);
// Nothing where no machine has this name. Throws Failure where its file is not as it should be.
std::optional<Machine> library_machine(std::string_view name);

}  // namespace shardscope
