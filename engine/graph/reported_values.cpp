#include "engine/graph/reported_values.h"

namespace shardscope {

std::string chosen_name(const ExpertCounts& counts) { return counts.layer + ": chosen"; }
std::string dropped_name(const ExpertCounts& counts) { return counts.layer + ": dropped"; }

std::map<std::string, ValueId> reported_values(const Graph& graph) {
  std::map<std::string, ValueId> values;
  for (const auto& [name, value] : graph.outputs) {
    if (graph.type(value).shape.empty()) values[name] = value;
  }
  for (const ExpertCounts& counts : graph.expert_counts) {
    values[chosen_name(counts)] = counts.chosen;
    if (counts.dropped != no_id) values[dropped_name(counts)] = counts.dropped;
  }
  return values;
}

}  // namespace shardscope
