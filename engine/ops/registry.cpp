#include "engine/ops/registry.h"

#include <unordered_map>

#include "engine/base/error.h"

namespace shardscope {

const std::vector<const OpDefinition*>& all_op_definitions() {
  static const std::vector<const OpDefinition*> all = [] {
    std::vector<const OpDefinition*> list;
    for (const std::vector<const OpDefinition*>& family : op_families()) {
      list.insert(list.end(), family.begin(), family.end());
    }
    return list;
  }();
  return all;
}

const OpDefinition& op_definition(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const OpDefinition*> map;
    for (const OpDefinition* definition : all_op_definitions()) map.emplace(definition->name(), definition);
    return map;
  }();
  const auto found = by_name.find(name);
  if (found != by_name.end()) return *found->second;
  std::vector<std::string> names;
  for (const OpDefinition* definition : all_op_definitions()) names.emplace_back(definition->name());
  throw Failure(Error{"unknown_op", "unknown op '" + std::string(name) + "'", "", name_hint(std::string(name), names)});
}

}  // namespace shardscope
