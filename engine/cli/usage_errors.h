#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "engine/base/error.h"

namespace shardscope {

// What of the words of a command line the parser did not know, where that is its fault: a command, an option, or one
// argument too many, with near names.
std::optional<Error> unknown_word(const CLI::App& app);

}  // namespace shardscope
