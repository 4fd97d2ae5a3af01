#include "engine/compile/data_request.h"

namespace shardscope {

DataRequest data_request(const Graph& graph, int64_t microbatches) {
  DataRequest request;
  for (const auto& [name, value] : graph.inputs) {
    const auto limit = graph.limits.find(name);
    TensorType whole = graph.type(value);
    whole.shape[0] *= microbatches;
    request.inputs.push_back({name, std::move(whole), limit == graph.limits.end() ? 0 : limit->second});
  }
  return request;
}

}  // namespace shardscope
