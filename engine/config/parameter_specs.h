#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/name_pattern.h"
#include "engine/config/run_config.h"

namespace shardscope {

// find_parameter_spec() for many parameters: names and patterns are read once. Refers to `sharding`.
class ParameterSpecs {
 public:
  explicit ParameterSpecs(const ShardingConfig& sharding);
  const ParameterSpec* find(const std::vector<std::string>& path) const;

 private:
  const ShardingConfig& sharding_;
  std::unordered_map<std::string, const ParameterSpec*> exact_;
  NamePatterns patterns_;
};

}  // namespace shardscope
