#include "engine/config/run_config.h"

#include <algorithm>

#include "engine/config/parameter_specs.h"
#include "engine/config/place.h"

namespace shardscope {

std::string parameter_place(const ParameterSpec& spec) {
  std::string place = "sharding.parameters";
  for (const std::string& name : spec.path) place = member_place(place, name);
  return place;
}

std::string rule_place(size_t index) { return element_place("sharding.rules", index); }

std::string constraint_place(const Constraint& constraint) {
  return member_place("sharding.constraints", constraint.names);
}

const ParameterSpec* find_parameter_spec(const ShardingConfig& sharding, const std::vector<std::string>& path) {
  return ParameterSpecs(sharding).find(path);
}

void set_parameter_spec(ShardingConfig& sharding, const std::vector<std::string>& path, PartitionSpec spec) {
  std::vector<ParameterSpec>& parameters = sharding.parameters;
  auto nearest = parameters.end();
  size_t longest = 0;
  for (auto at = parameters.begin(); at != parameters.end(); ++at) {
    if (at->path == path) {
      at->spec = std::move(spec);
      return;
    }
    const auto shorter = std::min(at->path.size(), path.size());
    const auto end = at->path.begin() + static_cast<std::ptrdiff_t>(shorter);
    const auto common =
        static_cast<size_t>(std::mismatch(at->path.begin(), end, path.begin()).first - at->path.begin());
    if (common > 0 && common >= longest) {
      longest = common;
      nearest = at;
    }
  }
  if (nearest != parameters.end()) ++nearest;
  parameters.insert(nearest, {path, std::move(spec)});
}

}  // namespace shardscope
