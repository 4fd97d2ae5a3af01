#include "engine/compile/file_faults.h"

#include <algorithm>

#include "engine/compile/compile.h"
#include "engine/config/run_keys.h"

namespace shardscope {

std::vector<Error> all_faults(const ReadRunFile& read, const std::filesystem::path& path) {
  auto is_unread = [&](const std::string& section) {
    return std::any_of(read.errors.begin(), read.errors.end(), [&](const Error& error) {
      return error.code != "unknown_key" && is_inside(error.place.path, section);
    });
  };
  std::vector<std::string> unread = keys_of(run_type(true).schema);
  std::erase_if(unread, [&](const std::string& section) { return !is_unread(section); });
  const bool shapes_unread = is_unread("model") || is_unread("data"),
             mesh_unread = is_unread("mesh") || is_unread("strategy");
  std::vector<Error> errors = read.errors;
  for (Error& error : validate(read.config)) {
    const bool by_names_alone = error.code == "duplicate_axis" || (error.code == "unknown_axis" && !mesh_unread);
    const std::string& place = error.place.path;
    bool caused = place.empty() && !read.errors.empty();
    caused |= std::ranges::any_of(unread, [&](const std::string& section) { return is_inside(place, section); });
    if (is_inside(place, "sharding")) caused = (shapes_unread || mesh_unread) && !by_names_alone;
    if (!caused) errors.push_back(std::move(error));
  }
  if (errors.empty()) return errors;
  return locate_errors(std::move(errors), read.text, path.string());
}

}  // namespace shardscope
