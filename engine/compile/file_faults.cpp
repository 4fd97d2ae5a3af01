#include "engine/compile/file_faults.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "engine/compile/compile.h"

namespace shardscope {

std::vector<Error> all_faults(const ReadRunFile& read, const std::filesystem::path& path) {
  auto is_unread = [&](const std::string& section) {
    return std::any_of(read.errors.begin(), read.errors.end(), [&](const Error& error) {
      return error.code != "unknown_key" && error.where.find(": " + section) != std::string::npos;
    });
  };
  const bool shapes_unread = is_unread("model") || is_unread("data"), mesh_unread = is_unread("mesh");
  std::vector<Error> errors = read.errors;
  for (Error& error : validate(read.config)) {
    const std::string section = error.where.substr(0, error.where.find_first_of(".["));
    const bool by_names_alone = error.code == "duplicate_axis" || (error.code == "unknown_axis" && !mesh_unread);
    const bool caused = section == "sharding" ? (shapes_unread || mesh_unread) && !by_names_alone : is_unread(section);
    if (!caused) errors.push_back(std::move(error));
  }
  if (errors.empty()) return errors;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return locate_errors(std::move(errors), text.str(), path.string());
}

}  // namespace shardscope
