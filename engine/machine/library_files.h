#pragma once

#include <span>
#include <string_view>

namespace shardscope {

// Files that are compiled into the program (cmake/machine_library.cmake), by name without ending, in alphabetical
// order.
struct LibraryFile {
  std::string_view name, text;
};
std::span<const LibraryFile> machine_files();  // resources/machines
std::span<const LibraryFile> stack_files();    // resources/stacks

}  // namespace shardscope
