#include "engine/compile/recomputed_ops.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/name_pattern.h"

namespace shardscope {

namespace {

constexpr int outside = -1;

// Which stretch of forward an op is made again with; `outside` where it is kept.
int region_of(const Op& op, const ScheduleConfig& schedule) {
  if (op.phase != Phase::forward || op.place.layer < 0) return outside;
  if (schedule.rematerialise == "full") return op.place.layer / static_cast<int>(schedule.rematerialised_layers);
  const LayerPart part = schedule.rematerialise == "attention" ? LayerPart::attention : LayerPart::mlp;
  return op.place.part == part ? op.place.layer : outside;
}

bool is_policy(const std::string& text) { return text == "full" || text == "attention" || text == "mlp"; }

std::vector<bool> matching_ops(const Graph& graph, const std::string& pattern) {
  std::vector<bool> matching(graph.ops.size());
  NamePatterns patterns;
  patterns.add(pattern, 0);
  for (size_t id = 0; id < matching.size(); ++id) {
    std::vector<int> found;
    if (graph.ops[id].phase == Phase::forward) patterns.match(graph.ops[id].name, found);
    matching[id] = !found.empty();
  }
  return matching;
}

}  // namespace

std::vector<bool> recomputed_ops(const Graph& graph, const ScheduleConfig& schedule) {
  std::vector<bool> again(graph.ops.size());
  if (schedule.rematerialise == "none") return again;
  if (!is_policy(schedule.rematerialise)) return matching_ops(graph, schedule.rematerialise);
  for (size_t id = 0; id < again.size(); ++id) again[id] = region_of(graph.ops[id], schedule) != outside;
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::forward) continue;
    for (ValueId input : op.inputs) {
      const OpId producer = graph.values[input].producer;
      if (producer != no_id && region_of(graph.ops[producer], schedule) != region_of(op, schedule))
        again[producer] = false;
    }
  }
  for (const auto& [name, value] : graph.outputs) {
    if (graph.values[value].producer != no_id) again[graph.values[value].producer] = false;
  }
  return again;
}

std::vector<Error> check_rematerialisation(const Graph& forward, const ScheduleConfig& schedule) {
  const std::string& policy = schedule.rematerialise;
  if (policy == "none") return {};
  const std::vector<bool> again = recomputed_ops(forward, schedule);
  if (std::ranges::find(again, true) != again.end()) return {};
  if (is_policy(policy)) {
    const std::string what = policy == "full" ? "layers" : policy == "mlp" ? "MLPs in layers" : "attention in layers";
    return {{"rematerialise", fmt::format("the model has no {} whose results could be made again", what),
             "schedule.rematerialise", R"("none", or a pattern of names of ops such as "**/gelu")"}};
  }
  std::vector<std::string> names{"none", "full", "attention", "mlp"};
  for (const Op& op : forward.ops) {
    if (op.phase == Phase::forward) names.push_back(op.name);
  }
  return {{"rematerialise", fmt::format("no forward op is called '{}'", policy), "schedule.rematerialise",
           name_hint(policy, names)}};
}

}  // namespace shardscope
