#pragma once

#include <nlohmann/json.hpp>

#include "engine/mesh/partition_spec.h"

namespace shardscope {

// As in a run file, an entry for each dimension: [null, "data", ["data", "model"]].
inline nlohmann::ordered_json spec_json(const PartitionSpec& spec) {
  nlohmann::ordered_json dims = nlohmann::ordered_json::array();
  for (const std::vector<std::string>& axes : spec.dims) {
    if (axes.empty()) dims.push_back(nullptr);
    else if (axes.size() == 1) dims.push_back(axes.front());
    else dims.push_back(axes);
  }
  return dims;
}

}  // namespace shardscope
