#pragma once

#include <filesystem>
#include <string>

namespace shardscope {

// The text of a file that is small enough to be edited: at most 64 MiB. Throws Failure: missing_file, directory,
// unreadable_file (also for a FIFO, a device or a socket, which is not waited for); hints name files of that folder
// that may have been meant.
std::string read_file(const std::filesystem::path& path);

}  // namespace shardscope
