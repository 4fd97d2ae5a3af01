#include "engine/compile/layer_count.h"

#include <algorithm>

#include "engine/compile/training_graph.h"

namespace shardscope {

int64_t layer_count(const RunConfig& config) {
  const ForwardGraph forward = build_forward(config);
  int64_t count = 0;
  if (!forward.graph) return count;
  for (const Op& op : forward.graph->ops) count = std::max<int64_t>(count, op.place.layer + 1);
  return count;
}

}  // namespace shardscope
