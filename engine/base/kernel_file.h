#pragma once

#include <string>

namespace shardscope {

// What the kernel says in a file of /proc or /sys. Empty where it cannot be read, as of a process that has ended since
// the file was opened, for which a stream's iterator throws.
std::string read_kernel_file(const std::string& path);

}  // namespace shardscope
