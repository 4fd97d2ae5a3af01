#include "engine/base/meant_name.h"

#include <algorithm>

#include "engine/base/error.h"

namespace shardscope {

std::string meant_name(const std::string& name, const std::vector<std::string>& names,
                       const std::vector<std::string>& given) {
  if (std::ranges::find(names, name) != names.end()) return name;
  const std::vector<std::string> near = near_names(name, names);
  const auto meant =
      std::ranges::find_if(near, [&](const std::string& one) { return !std::ranges::count(given, one); });
  return meant == near.end() ? std::string() : *meant;
}

}  // namespace shardscope
