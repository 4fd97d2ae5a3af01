#include "engine/machine/machine_library.h"

#include <algorithm>
#include <string>

#include "engine/machine/library_files.h"
#include "engine/machine/machine_file.h"

namespace shardscope {

namespace {

const LibraryFile* find_file(std::string_view name) {
  const auto found = std::ranges::find(machine_files(), name, &LibraryFile::name);
  return found == machine_files().end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string_view> library_names() {
  std::vector<std::string_view> names;
  for (const LibraryFile& file : machine_files()) names.push_back(file.name);
  return names;
}

bool is_in_library(std::string_view name) { return find_file(name); }

std::optional<Machine> library_machine(std::string_view name) {
  const LibraryFile* file = find_file(name);
  return file ? std::optional(parse_machine(std::string(file->text), std::string(name))) : std::nullopt;
}

}  // namespace shardscope
