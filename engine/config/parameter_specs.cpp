#include "engine/config/parameter_specs.h"

#include "engine/base/path.h"

namespace shardscope {

ParameterSpecs::ParameterSpecs(const ShardingConfig& sharding) : sharding_(sharding) {
  for (size_t i = 0; i < sharding.parameters.size(); ++i) {
    const std::string name = join_path(sharding.parameters[i].path);
    exact_.emplace(name, &sharding.parameters[i]);
    if (is_pattern(name)) patterns_.add(name, static_cast<int>(i));
  }
}

const ParameterSpec* ParameterSpecs::find(const std::vector<std::string>& path) const {
  const std::string name = join_path(path);
  if (const auto found = exact_.find(name); found != exact_.end()) return found->second;
  std::vector<int> matching;
  patterns_.match(name, matching);
  return matching.empty() ? nullptr : &sharding_.parameters[static_cast<size_t>(matching.front())];
}

}  // namespace shardscope
