#include "engine/machine/machine_library.h"

#include <span>
#include <string>

#include "engine/machine/machine_file.h"

namespace shardscope {

// Made of resources/machines by cmake/machine_library.cmake.
struct LibraryFile {
  std::string_view name, text;
};
std::span<const LibraryFile> library_files();

std::vector<std::string_view> library_names() {
  std::vector<std::string_view> names;
  for (const LibraryFile& file : library_files()) names.push_back(file.name);
  return names;
}

std::optional<Machine> library_machine(std::string_view name) {
  for (const LibraryFile& file : library_files()) {
    if (file.name == name) return parse_machine(std::string(file.text), std::string(name));
  }
  return std::nullopt;
}

}  // namespace shardscope
