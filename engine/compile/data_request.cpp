#include "engine/compile/data_request.h"

namespace shardscope {

DataRequest data_request(const Graph& graph) {
  DataRequest request;
  for (const auto& [name, value] : graph.inputs) {
    const auto limit = graph.limits.find(name);
    request.inputs.push_back({name, graph.type(value), limit == graph.limits.end() ? 0 : limit->second});
  }
  return request;
}

}  // namespace shardscope
