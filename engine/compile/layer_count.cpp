#include "engine/compile/layer_count.h"

#include <algorithm>

#include "engine/compile/training_graph.h"
#include "engine/machine/host_machine.h"
#include "engine/plan/stages.h"

namespace shardscope {

int64_t layer_count(const RunConfig& config) {
  const ForwardGraph forward = build_forward(config);
  int64_t count = 0;
  if (!forward.graph) return count;
  for (const Op& op : forward.graph->ops) count = std::max<int64_t>(count, op.place.layer + 1);
  return count;
}

std::vector<int> layers_of_chunks(const PlanRequest& request) {
  const RunConfig& config = request.config;
  const ForwardGraph forward = build_forward(config);
  if (!forward.graph || !forward.run.errors.empty() || !forward.run.mesh) return {};
  if (!check_pipeline(config, *forward.run.mesh, *forward.graph).empty()) return {};
  // As written, the machine has no say in what runs where.
  const bool is_written = config.sharding.mode == LayoutMode::as_written;
  return layers_of_chunks(forward, is_written ? reference_host() : request.machine);
}

}  // namespace shardscope
