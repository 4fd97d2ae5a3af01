#pragma once

#include <filesystem>
#include <vector>

#include "engine/base/error.h"
#include "engine/config/parse.h"

namespace shardscope {

// Every fault of a run file that was read: those of its form, and those of the values that could be read all the same,
// but for what a value that could not be read may have caused. Located in the file ("FILE:line: path").
std::vector<Error> all_faults(const ReadRunFile& read, const std::filesystem::path& path);

}  // namespace shardscope
