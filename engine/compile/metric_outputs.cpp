#include "engine/compile/metric_outputs.h"

#include <algorithm>

namespace shardscope {

std::vector<std::string> metric_outputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& [name, value] : graph.outputs) {
    if (graph.type(value) == TensorType{{}, DType::f32}) names.push_back(name);
  }
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name == "loss"; });
  return names;
}

}  // namespace shardscope
